/** The JSON of a run. Apart from shapes.ts, which commands that must be quick load without the core. */
import type { RunSnapshot } from '@flowline/core';
import { type Run, type RunView, runFacts, runSnapshot } from '@flowline/core/internal';

/** A run as `FlowClient` gives it; with its tasks when it comes with them. */
export function runJson(run: Run | RunView): Omit<RunSnapshot, 'tasks'> | RunSnapshot {
  return 'tasks' in run ? runSnapshot(run) : runFacts(run);
}
