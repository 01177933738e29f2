/**
 * What the jobs did, as they wrote it down themselves, compared with what the database says became of them. Pure but for
 * reading the file.
 */
import { existsSync, readFileSync } from 'node:fs';

/** The lines of the journal in the order in which they were appended; a torn last one of a killed process is left out. */
export function readJournal(file) {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return line === '' ? [] : [JSON.parse(line)];
      } catch {
        return [];
      }
    });
}

const grantOf = ({ runId, job, fence }) => `${runId}/${job}#${fence}`;

/**
 * Violations of what the documentation promises about effects:
 * an attempt starts once; what is recorded as a success did happen, to its end, under that fence; a job is given the results
 * that were recorded, after they were; no attempt starts that the database does not know.
 * @param {readonly any[]} lines of the journal
 * @param {readonly { runId: string, tasks: readonly any[] }[]} runs with their tasks, as stored
 */
export function violationsOfEffects(lines, runs) {
  const violations = [];
  const startOf = new Map();
  const endOf = new Map();
  for (const [index, line] of lines.entries()) {
    const grant = grantOf(line);
    if (line.event === 'start') {
      if (startOf.has(grant)) violations.push(`${grant} was started twice`);
      startOf.set(grant, { index, line });
    }
    if (line.event === 'end') {
      if (endOf.has(grant)) violations.push(`${grant} came to its end twice`);
      endOf.set(grant, { index, line });
    }
  }
  const attempts = new Set();
  const recorded = new Map();
  for (const run of runs) {
    for (const task of run.tasks) {
      for (const attempt of task.attempts) {
        const grant = `${run.id}/${task.jobId}#${attempt.token}`;
        attempts.add(grant);
        if (attempt.outcome !== 'succeeded') continue;
        if (recorded.has(`${run.id}/${task.jobId}`))
          violations.push(`${run.id}/${task.jobId} has two accepted successes`);
        recorded.set(`${run.id}/${task.jobId}`, { fence: attempt.token, n: attempt.n });
        if (!endOf.has(grant))
          violations.push(`${grant} is recorded as a success that never happened`);
        else if (endOf.get(grant).line.attempt !== attempt.n)
          violations.push(`${grant} is recorded as attempt ${attempt.n}, its job was told another`);
      }
      if (task.state === 'succeeded' && !recorded.has(`${run.id}/${task.jobId}`))
        violations.push(`${run.id}/${task.jobId} succeeded without an attempt that did`);
    }
  }
  for (const [grant, { index, line }] of startOf) {
    if (!attempts.has(grant))
      violations.push(`${grant} started and the database knows nothing of it`);
    for (const input of line.inputs) {
      const upstream = `${input.key}#${input.fence}`;
      const end = endOf.get(upstream);
      if (end === undefined || end.index > index)
        violations.push(`${grant} was given the result of ${upstream}, which had not ended`);
      if (recorded.get(input.key)?.fence !== input.fence)
        violations.push(
          `${grant} was given the result of ${upstream}, which is not the recorded one`,
        );
    }
  }
  return violations;
}

/** Attempts that came to their end and were not the recorded one: what "at least once started" costs. */
export function countUnrecordedEffects(lines, runs) {
  const recorded = new Set(
    runs.flatMap((run) =>
      run.tasks.flatMap((task) =>
        task.attempts
          .filter(({ outcome }) => outcome === 'succeeded')
          .map(({ token }) => `${run.id}/${task.jobId}#${token}`),
      ),
    ),
  );
  return lines.filter((line) => line.event === 'end' && !recorded.has(grantOf(line))).length;
}
