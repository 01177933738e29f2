/**
 * What the history of a task shows: one accepted success, attempts without gaps, a fence that grows, and no write by a holder
 * whose token was stale. Such a write would end an attempt that had ended before, leave a later one open, or end the task
 * with another attempt than its last.
 */
import { type AttemptOutcome, isClosedTask, type TaskState } from '../../model/states.js';
import type { AttemptDocument, TaskDocument } from '../collections.js';
import { type Finding, type Invariant, show } from './inspection.js';
import type { RunSubject } from './run-subject.js';

function ofEachTask(
  name: Invariant<RunSubject>['name'],
  checkTask: (task: TaskDocument, subject: string) => Iterable<Finding>,
): Invariant<RunSubject> {
  return {
    name,
    *check({ tasks }) {
      for (const task of tasks.values()) yield* checkTask(task, `task ${task._id}`);
    },
  };
}

const countOf = (task: TaskDocument, outcome: AttemptOutcome) =>
  task.attempts.filter((attempt) => attempt.outcome === outcome).length;

/** One for each time the task was opened. */
const oneSuccess = ofEachTask('one-success', function* (task, subject) {
  const successes = countOf(task, 'succeeded');
  if (successes <= task.generation + 1) return;
  yield {
    subject,
    expected: `at most ${task.generation + 1} accepted success`,
    found: `${successes}`,
  };
});

const withoutGap = ofEachTask('attempts-without-gap', function* (task, subject) {
  for (const [index, attempt] of task.attempts.entries()) {
    if (attempt.n === index + 1) continue;
    yield { subject, expected: `attempt ${index + 1}`, found: `attempt ${attempt.n}` };
    return;
  }
});

const tokensGrow = ofEachTask('tokens-grow', function* (task, subject) {
  let last = 0;
  for (const { n, token } of task.attempts) {
    if (token <= last) {
      yield { subject, expected: `attempt ${n} with a token above ${last}`, found: `${token}` };
    }
    last = Math.max(last, token);
  }
  if (task.token !== last) {
    yield { subject, expected: `token ${last}, that of the last attempt`, found: `${task.token}` };
  }
});

/** Which attempt may have brought a task to the state it is in. */
const endings: Partial<Record<TaskState, readonly AttemptOutcome[]>> = {
  succeeded: ['succeeded'],
  failed: ['failed', 'lost'],
  skipped: ['skipped'],
  delayed: ['failed'],
  ready: ['failed', 'lost', 'returned'],
};

const noStaleWrite = ofEachTask('no-stale-write', function* (task, subject) {
  const last = task.attempts.at(-1);
  if (task.state === 'running') yield* checkHolder(task, last, subject);
  else if (task.lease !== null) {
    yield { subject, expected: `no lease while ${task.state}`, found: task.lease.grant };
  }
  for (const [index, attempt] of task.attempts.entries()) {
    const next = task.attempts[index + 1];
    const one = `${subject} attempt ${attempt.n}`;
    const isOpen = attempt.outcome === null || attempt.endedAt === null;
    if (isOpen) {
      if (next !== undefined || task.state !== 'running') {
        yield { subject: one, expected: 'an ended attempt', found: `open, task ${task.state}` };
      }
      continue;
    }
    if (next === undefined) continue;
    if (attempt.outcome === 'succeeded' && task.generation === 0) {
      yield { subject: one, expected: 'no attempt after a success', found: `attempt ${next.n}` };
    }
    if (attempt.endedAt! > next.startedAt) {
      yield {
        subject: one,
        expected: `an end before attempt ${next.n} began at ${show(next.startedAt)}`,
        found: show(attempt.endedAt),
      };
    }
  }
  // A rerun opens a task that has attempts already.
  const allowed = task.generation === 0 ? endings[task.state] : undefined;
  if (last?.outcome && allowed !== undefined && !allowed.includes(last.outcome)) {
    yield { subject, expected: `${task.state} by ${allowed.join(' or ')}`, found: last.outcome };
  }
  const needsAttempt = task.state === 'succeeded' || task.state === 'failed';
  if (last === undefined && needsAttempt) {
    yield { subject, expected: `an attempt that ended it ${task.state}`, found: 'none' };
  }
});

function* checkHolder(
  task: TaskDocument,
  last: AttemptDocument | undefined,
  subject: string,
): Iterable<Finding> {
  const { lease } = task;
  if (lease === null) {
    yield { subject, expected: 'a lease while running', found: 'none' };
  } else if (
    lease.token !== task.token ||
    lease.token !== last?.token ||
    lease.runner !== last.runner ||
    lease.grant !== `${task._id}#${task.token}`
  ) {
    const holder = last === undefined ? 'nobody' : `${last.runner} with token ${last.token}`;
    yield {
      subject,
      expected: `the lease of attempt ${last?.n ?? 0}: ${holder}, token ${task.token}`,
      found: `${lease.runner} with token ${lease.token} (${lease.grant})`,
    };
  }
}

const taskCounters = ofEachTask('task-counters', function* (task, subject) {
  // A rerun may begin to count anew.
  if (task.generation > 0) return;
  const counted = [
    ['failures', task.failures, countOf(task, 'failed')],
    ['losses', task.losses, countOf(task, 'lost')],
  ] as const;
  for (const [what, found, expected] of counted) {
    if (found === expected) continue;
    yield { subject: `${subject} ${what}`, expected: `${expected}`, found: `${found}` };
  }
  if (isClosedTask(task.state) && task.endedAt === null) {
    yield { subject, expected: `an end, being ${task.state}`, found: 'none' };
  }
});

export const attemptInvariants = [oneSuccess, withoutGap, tokensGrow, noStaleWrite, taskCounters];
