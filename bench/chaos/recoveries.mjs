/**
 * How long the tasks stood still that a kill interrupted, from the journal, and which of these times say something of the
 * rescue alone. Pure.
 */

/**
 * What was done to one runner, from when until when.
 * @typedef {{ number: number, kind: string, from: number, until: number }} Mishap
 */

/**
 * A kill: which process, started when, and who was there to go on: runners to whom nothing was being done.
 * @typedef {{ pid: number, since: number, at: number, others: { number: number, pid: number, since: number,
 *   isNeighbour: boolean }[] }} Kill
 */

/** What a runner takes on at once: see runnerArgs. */
const slots = 6;

/**
 * From each kill to the next start of each task that it interrupted, in ms. `provable`: a runner of the same machine was left
 * alone meanwhile. `undisturbed`: so was some runner that had a slot free, the database was not away in that time nor in the
 * lease before it, and the task was hit once.
 * @param {readonly any[]} lines of the journal
 * @param {{ kills: readonly Kill[], mishaps: readonly Mishap[], outages: readonly { from: number, until: number }[] }} damage
 * @param {number} leaseMs
 */
export function recoveriesOf(lines, { kills, mishaps, outages }, leaseMs) {
  const found = kills.flatMap((kill) =>
    openAttempts(lines, kill.pid, kill.since, kill.at).flatMap((attempt) => {
      const starts = lines.filter(({ event, key }) => event === 'start' && key === attempt.key);
      // Another had it already: its lease had lapsed before the kill.
      if (starts.some(({ fence, at }) => fence > attempt.fence && at <= kill.at)) return [];
      const again = starts.find(({ at }) => at > kill.at);
      if (again === undefined) return [];
      // A fence in between was given to a runner that was hit before it could start the attempt.
      const isNext = again.fence === attempt.fence + 1;
      return [{ kill, key: attempt.key, at: kill.at, until: again.at, isNext }];
    }),
  );
  const hits = new Map();
  for (const { key } of found) hits.set(key, (hits.get(key) ?? 0) + 1);
  return found.map(({ kill, key, at, until, isNext }) => {
    const leftAlone = kill.others.filter(
      ({ number }) =>
        !mishaps.some((one) => one.number === number && one.from <= until && one.until >= at),
    );
    const isFree = ({ pid, since }) => {
      const open = openAttempts(lines, pid, since, at);
      // One that holds its thread takes nothing, whatever it has free.
      return open.length < slots && !open.some(({ job }) => job === 'blocking');
    };
    const wasAway = outages.some((one) => one.from <= until && one.until >= at - leaseMs);
    return {
      key,
      ms: until - at,
      provable: leftAlone.some((other) => other.isNeighbour && isFree(other)),
      undisturbed: !wasAway && isNext && hits.get(key) === 1 && leftAlone.some(isFree),
    };
  });
}

/** Attempts of a process that had started and not ended at that time. */
function openAttempts(lines, pid, since, at) {
  const open = new Map();
  for (const line of lines) {
    if (line.pid !== pid || line.at < since || line.at > at) continue;
    if (line.event === 'start') open.set(`${line.key}#${line.fence}`, line);
    else open.delete(`${line.key}#${line.fence}`);
  }
  return [...open.values()];
}
