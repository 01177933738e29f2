import { isClosedRun, isClosedTask } from '../../model/states.js';
import type { RunDocument, TaskDocument } from '../collections.js';
import { type Invariant, show } from './inspection.js';
import type { RunSubject } from './run-subject.js';

/** A closed run has its end, which is that of its last task; an open one has none. */
const runHasEnd: Invariant<RunSubject> = {
  name: 'run-has-end',
  *check({ run, tasks }) {
    const subject = `run ${run._id}`;
    if (!isClosedRun(run.state)) {
      if (run.endedAt === null) return;
      yield { subject, expected: `no end while ${run.state}`, found: show(run.endedAt) };
      return;
    }
    if (run.endedAt === null) {
      yield { subject, expected: `an end, being ${run.state}`, found: 'none' };
      return;
    }
    for (const task of tasks.values()) {
      if (task.endedAt === null || task.endedAt <= run.endedAt) continue;
      yield {
        subject: `${subject} and its task ${task.jobId}`,
        expected: `a task that ended at ${show(run.endedAt)} or before`,
        found: show(task.endedAt),
      };
    }
  },
};

const noOpenTask: Invariant<RunSubject> = {
  name: 'no-open-task-in-closed-run',
  *check({ run, tasks }) {
    // A retry opens its tasks before it opens the run.
    if (!isClosedRun(run.state) || run.retrying !== undefined) return;
    for (const task of tasks.values()) {
      if (isClosedTask(task.state)) continue;
      yield {
        subject: `task ${task._id}`,
        expected: `a closed task, since its run is ${run.state}`,
        found: task.state,
      };
    }
  },
};

/** A materialised run has all its tasks, and a closed one ended as they say. */
const runIsWhole: Invariant<RunSubject> = {
  name: 'run-is-whole',
  *check({ run, tasks, version }, audit) {
    const subject = `run ${run._id}`;
    if (version === null) {
      yield { subject, expected: `version ${run.version} in the database`, found: 'none' };
      return;
    }
    // Retention takes the tasks first. A run that is being refused loses its tasks before itself.
    const isGoing = run.expireAt !== null && run.expireAt <= audit.now;
    if (!run.materialized || isGoing || run.refused !== null) return;
    const missing = version.definition.jobs.filter((job) => !tasks.has(job.id));
    if (missing.length > 0) {
      const names = missing.slice(0, 5).map((job) => job.id);
      yield {
        subject,
        expected: `a task for each of ${version.definition.jobs.length} jobs`,
        found: `${missing.length} missing: ${names.join(', ')}`,
      };
      return;
    }
    if (!isClosedRun(run.state) || run.retrying !== undefined) return;
    const expected = outcomeOf(run, [...tasks.values()]);
    if (run.state !== expected) {
      yield { subject, expected: `${expected}, as its tasks say`, found: run.state };
    }
  },
};

function outcomeOf(run: RunDocument, tasks: readonly TaskDocument[]): RunDocument['state'] {
  if (run.cancelRequestedAt !== null) return 'cancelled';
  if (tasks.some((one) => one.state === 'failed' && !one.allowFailure)) return 'failed';
  // Without a request: a retry of some tasks of a cancelled run left the others as they were.
  return tasks.some((one) => one.state === 'cancelled') ? 'cancelled' : 'succeeded';
}

/** The outcome is in `slots` before the run closes; a slot names the one run that had it. */
const slotRemembers: Invariant<RunSubject> = {
  name: 'slot-remembers-run',
  *check({ run, slot }, audit) {
    const subject = `run ${run._id}`;
    if (slot !== null && slot.runId !== run._id) {
      yield { subject, expected: `slot ${run.slot} to be its own`, found: `run ${slot.runId}` };
      return;
    }
    if (run.slot.startsWith('u:') || !isClosedRun(run.state)) return;
    if (slot === null) {
      // Slots of client keys are forgotten after 30 days.
      const isForgotten = run.slot.startsWith('k:') && isMonthOld(run.endedAt, audit.now);
      if (!isForgotten) yield { subject, expected: `slot ${run.slot} in slots`, found: 'none' };
      return;
    }
    if (slot.openEpoch !== run.openEpoch || slot.outcome !== run.state) {
      const found = `${slot.outcome}, of opening ${slot.openEpoch}`;
      yield { subject, expected: `${run.state}, of opening ${run.openEpoch}, in slots`, found };
    }
  },
};

const monthMs = 29 * 24 * 3_600_000;

function isMonthOld(instant: Date | null, now: Date): boolean {
  return instant !== null && now.getTime() - instant.getTime() > monthMs;
}

/** A scheduled run is made when its date has come, by the database's clock. */
const noEarlyFire: Invariant<RunSubject> = {
  name: 'no-early-fire',
  *check({ run }) {
    if (run.cause !== 'schedule' && run.cause !== 'catch-up') return;
    if (run.logicalDate === null || run.createdAt >= run.logicalDate) return;
    yield {
      subject: `run ${run._id}`,
      expected: `made at ${show(run.logicalDate)} or later`,
      found: show(run.createdAt),
    };
  },
};

export const runInvariants = [runHasEnd, noOpenTask, runIsWhole, slotRemembers, noEarlyFire];
