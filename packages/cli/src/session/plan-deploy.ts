import {
  type Dag,
  type DeployResult,
  type FireView,
  type Store,
  viewNextFires,
} from '@flowline/core/internal';
import { markPaused } from '../output/fire-notes.js';
import { readableVersion } from '../output/schedule-words.js';
import type { Project } from './load-project.js';

export type PlannedChange = DeployResult['change'] | 'removed' | 'not in the code';

/** What a deploy does to one DAG. */
export interface Planned {
  readonly id: string;
  readonly version: string;
  readonly change: PlannedChange;
  readonly previousVersion: string | null;
  readonly openRuns: number;
  /** The next fires by what is stored now, and by what will be; from the database's now. */
  readonly nextFires: { readonly before: readonly FireView[]; readonly after: readonly FireView[] };
}

const firesShown = 5;

/**
 * What would change, DAG by DAG. Ownership of every DAG is checked (ConflictError) before anything is written. `isPartial`: only
 * some of the project's files were loaded, so what is missing is not gone.
 */
export async function planDeploys(
  store: Store,
  project: Project,
  options: { readonly isPartial: boolean; readonly prune: boolean },
): Promise<Planned[]> {
  const name = project.settings.project;
  const now = await store.readServerTime();
  const plan: Planned[] = [];
  for (const { definition, version } of project.dags) {
    const result = await store.planDeploy({ definition, version, project: name });
    const dag = await store.getDag(definition.id);
    const before = await firesOfDeployed(store, dag, now);
    const after = viewed(definition.schedule, now, dag?.pausedAt ?? null);
    plan.push({ id: definition.id, version, ...result, nextFires: { before, after } });
  }
  if (options.isPartial) return plan;
  const inCode = new Set(project.dags.map(({ definition }) => definition.id));
  for (const dag of await store.listDags({ project: name, state: 'active' })) {
    if (inCode.has(dag.id)) continue;
    const runs = await store.countRuns(dag.id);
    const before = await firesOfDeployed(store, dag, now);
    plan.push({
      id: dag.id,
      version: dag.version,
      change: options.prune ? 'removed' : 'not in the code',
      previousVersion: dag.version,
      openRuns: (runs.queued ?? 0) + (runs.running ?? 0),
      nextFires: { before, after: options.prune ? [] : before },
    });
  }
  return plan;
}

/** None of a DAG that is not there, retired, or broken: it does not fire. */
async function firesOfDeployed(store: Store, dag: Dag | null, now: Date): Promise<FireView[]> {
  if (dag === null || dag.state !== 'active' || dag.broken !== null) return [];
  const definition = await readableVersion(store.getVersion(dag.id, dag.version));
  try {
    return viewed(definition?.schedule, now, dag.pausedAt);
  } catch {
    // Broken, and nobody has noticed yet: this deploy may be the one that mends it.
    return [];
  }
}

function viewed(
  schedule: Parameters<typeof viewNextFires>[0] | undefined,
  after: Date,
  pausedAt: Date | null,
): FireView[] {
  if (schedule === undefined) return [];
  return markPaused(viewNextFires(schedule, { after, count: firesShown }), pausedAt);
}
