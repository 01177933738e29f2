import {
  type Dag,
  type DagDefinition,
  type FireView,
  viewNextFires,
} from '@flowline/core/internal';

/**
 * The first `count` fires that the cursor of a DAG stands before, and the excluded dates between them, marked. None while it is
 * paused, retired or broken, or when its schedule cannot be read.
 */
export function comingFires(dag: Dag, definition: DagDefinition | null, count: number): FireView[] {
  const schedule = definition?.schedule;
  if (schedule === undefined || dag.nextFireAt === null || dag.broken !== null) return [];
  if (dag.pausedAt !== null || dag.state !== 'active') return [];
  try {
    return viewNextFires(schedule, { after: new Date(dag.nextFireAt.getTime() - 1), count });
  } catch {
    // The leader marks it as broken when the next fire is due.
    return [];
  }
}

/** Local times; a remark stands beside the fire that it is about. */
export function firesInWords(fires: readonly FireView[]): string {
  return fires.map(({ local, note }) => (note === null ? local : `${local} (${note})`)).join(', ');
}
