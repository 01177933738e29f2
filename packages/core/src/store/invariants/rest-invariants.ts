/**
 * At rest: everything that somebody owed has been paid. What is still open has somebody who will go on with it without being
 * asked (a delayed task that is not due, a run with a later start, a paused schedule).
 */
import { isClosedTask } from '../../model/states.js';
import type { TaskDocument } from '../collections.js';
import { type Audit, type Finding, type Invariant, show } from './inspection.js';
import type { RunSubject } from './run-subject.js';

export const nothingLeftUndone: Invariant<RunSubject> = {
  name: 'nothing-left-undone',
  *check(subject, audit) {
    if (!audit.atRest) return;
    yield* checkRun(subject, audit);
    for (const task of subject.tasks.values()) yield* checkTask(task, audit);
    yield* checkProgress(subject, audit);
  },
};

function* checkRun({ run }: RunSubject, audit: Audit): Iterable<Finding> {
  const subject = `run ${run._id}`;
  if (run.refused !== null && audit.isOverdue(run.createdAt)) {
    yield { subject, expected: 'a line in fires instead of it', found: 'half refused' };
  }
  if (!run.materialized && audit.isOverdue(run.createdAt)) {
    yield { subject, expected: 'all its tasks', found: 'half made' };
  }
  if (run.cancelling && audit.isOverdue(run.cancelRequestedAt)) {
    yield {
      subject,
      expected: 'a cancelled run',
      found: `cancelling since ${show(run.cancelRequestedAt)}`,
    };
  }
  if (run.retrying !== undefined && audit.isOverdue(run.retrying.at)) {
    yield {
      subject,
      expected: 'an open run',
      found: `half retried since ${show(run.retrying.at)}`,
    };
  }
  if (run.state === 'running' && !run.started && audit.isOverdue(run.startedAt)) {
    yield { subject, expected: 'roots that are ready', found: 'half started' };
  }
}

function* checkTask(task: TaskDocument, audit: Audit): Iterable<Finding> {
  const subject = `task ${task._id}`;
  const since = waitsSince(task);
  if (since !== null && audit.isOverdue(since)) {
    yield { subject, expected: 'no work left', found: `${task.state} since ${show(since)}` };
  }
  if (!task.propagated && audit.isOverdue(task.endedAt)) {
    yield {
      subject,
      expected: 'dependents that were told',
      found: `owed since ${show(task.endedAt)}`,
    };
  }
}

/** Since when a runner should have done something about it; null when nobody has to. */
function waitsSince(task: TaskDocument): Date | null {
  switch (task.state) {
    case 'ready':
      return task.readyAt;
    case 'running':
      return task.attempts.at(-1)?.startedAt ?? task.startedAt;
    case 'delayed':
      return task.delayedUntil;
    default:
      return null;
  }
}

/** An open run has a task that will go on, or a mark that will be paid. */
function* checkProgress({ run, tasks, version }: RunSubject, audit: Audit): Iterable<Finding> {
  if (version === null || run.state !== 'running' || !run.started) return;
  const all = [...tasks.values()];
  if (all.some((task) => !task.propagated)) return;
  if (all.every((task) => isClosedTask(task.state))) {
    if (audit.isOverdue(lastEnd(all) ?? run.startedAt)) {
      yield {
        subject: `run ${run._id}`,
        expected: 'closed, as all its tasks are',
        found: run.state,
      };
    }
    return;
  }
  for (const task of all) {
    if (task.state !== 'blocked') continue;
    const upstream = (version.jobs.get(task.jobId)?.dependsOn ?? []).map((id) => tasks.get(id));
    const isOpen = upstream.some((one) => one !== undefined && !isClosedTask(one.state));
    const since = lastEnd(upstream.filter((one) => one !== undefined)) ?? run.startedAt;
    if (isOpen || !audit.isOverdue(since)) continue;
    yield {
      subject: `task ${task._id}`,
      expected: 'decided, as everything before it has ended',
      found: `blocked since ${show(since)}`,
    };
  }
}

function lastEnd(tasks: readonly TaskDocument[]): Date | null {
  return tasks.reduce<Date | null>(
    (last, { endedAt }) => (endedAt !== null && (last === null || endedAt > last) ? endedAt : last),
    null,
  );
}
