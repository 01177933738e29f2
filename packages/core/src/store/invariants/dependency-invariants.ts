import { isClosedTask } from '../../model/states.js';
import type { TaskDocument } from '../collections.js';
import { type Finding, type Invariant, show } from './inspection.js';
import type { RunSubject } from './run-subject.js';

/**
 * The rule of a task, `all-succeeded`: it runs when every upstream task has succeeded, and its first attempt began after the last
 * of them ended. Without an attempt it ends as its upstream tasks say. Retries are left out: they reopen tasks in the middle.
 * A run of a part of the graph is looked at as if there were no more than that part.
 */
export const dependenciesFirst: Invariant<RunSubject> = {
  name: 'dependencies-first',
  *check({ run, tasks, version }, audit) {
    const isGoing = run.expireAt !== null && run.expireAt <= audit.now;
    if (version === null || isGoing || run.openEpoch > 0) return;
    const part = run.part === undefined ? null : new Set(run.part.jobs);
    for (const task of tasks.values()) {
      if (part !== null && !part.has(task.jobId)) continue;
      const upstream: TaskDocument[] = [];
      for (const id of version.jobs.get(task.jobId)?.dependsOn ?? []) {
        const one = tasks.get(id);
        const isInside = part === null || part.has(id);
        if (one !== undefined && isInside) upstream.push(one);
      }
      if (upstream.some((one) => one.generation > 0) || task.generation > 0) continue;
      yield* checkTask(task, upstream);
    }
  },
};

function* checkTask(task: TaskDocument, upstream: readonly TaskDocument[]): Iterable<Finding> {
  const first = task.attempts[0];
  const isLet = first !== undefined || ['ready', 'running', 'delayed'].includes(task.state);
  if (isLet) {
    for (const one of upstream) {
      const subject = `task ${task._id} after ${one.jobId}`;
      if (one.state !== 'succeeded') {
        yield { subject, expected: 'a start after its success', found: `it is ${one.state}` };
      } else if (first !== undefined && one.endedAt !== null && first.startedAt < one.endedAt) {
        yield {
          subject,
          expected: `a start at ${show(one.endedAt)} or later`,
          found: show(first.startedAt),
        };
      }
    }
    return;
  }
  const says = reasonOf(task);
  if (says === null || upstream.some((one) => says.includes(one.state))) return;
  yield {
    subject: `task ${task._id}`,
    expected: `${task.state} only after an upstream task that is ${says.join(' or ')}`,
    found: upstream.map((one) => `${one.jobId} ${one.state}`).join(', ') || 'no upstream task',
  };
}

/** What an upstream task must be, for a task to end like this without an attempt. Cancellation needs none. */
function reasonOf(task: TaskDocument): readonly string[] | null {
  if (!isClosedTask(task.state)) return null;
  if (task.state === 'upstream-failed') return ['failed', 'upstream-failed'];
  return task.state === 'skipped' ? ['skipped'] : null;
}
