import type { DagDefinition } from '../../model/definition.js';
import type { Cause } from '../../model/states.js';
import { literal } from '../task-transitions.js';

/**
 * The expression, after `dueAt` is known, that gives a new run its expectations; null for a DAG without any. `start` and
 * `finish` count from `from` (when the oldest fire of the run was due), else from when the run itself is due. The dates of a
 * backfill were due long ago: only its `duration` is looked at. For `duration` the instant is the earliest possible one; it is
 * put right when the run has started.
 */
export function expectedOfRun(
  definition: DagDefinition,
  cause: Cause,
  from: Date | undefined,
): readonly unknown[] | null {
  const { expectWithin } = definition;
  if (expectWithin === undefined) return null;
  const due = from === undefined ? '$dueAt' : literal(from);
  const { startMs, finishMs, durationMs } = expectWithin;
  const isLive = cause !== 'backfill';
  const entries = [
    { kind: 'start', ms: isLive ? startMs : undefined, counted: due },
    { kind: 'finish', ms: isLive ? finishMs : undefined, counted: due },
    { kind: 'duration', ms: durationMs, counted: '$dueAt' },
  ];
  return entries
    .filter(({ ms }) => ms !== undefined)
    .map(({ kind, ms, counted }) => ({ kind, ms, by: { $add: [counted, ms] } }));
}
