/**
 * Who breaks things: every moment one mishap to one runner or to the database, from a seed. One runner at least is always
 * left alone, and each mishap is over before the system is judged.
 */
import { between, oneOf } from './random.mjs';
import { monotonicMs } from './runner-slot.mjs';
import { pause, within } from './workload.mjs';

const drainSeconds = 3;
export const runnerArgs = ['--concurrency', '6', '--drain-timeout', `${drainSeconds}s`];

/** What may happen to a runner, as often as it stands here; the database is restarted at every tenth turn. */
const anywhere = ['kill', 'kill', 'kill', 'stop', 'drain'];
const throughProxy = [...anywhere, 'cut', 'cut', 'delay'];

/** Every kind of mishap. */
export const kinds = [...new Set(throughProxy), 'restart'];

/**
 * @typedef {{ kills: import('./recoveries.mjs').Kill[], mishaps: import('./recoveries.mjs').Mishap[],
 *   outages: { from: number, until: number }[], stops: number, drains: number, cuts: number, delays: number,
 *   restarts: number, violations: string[] }} Damage
 */

/**
 * Acts until `signal` aborts, then mends everything. Resolves when all is mended.
 * @param {{ slots: import('./runner-slot.mjs').RunnerSlot[], database: any, random: () => number, leaseMs: number,
 *   blockMs: number, only?: readonly string[], signal: AbortSignal, tell: (line: string) => void }} options
 * @returns {Promise<Damage>}
 */
export async function breakThings({
  slots,
  database,
  random,
  leaseMs,
  blockMs,
  only,
  signal,
  tell,
}) {
  /** @type {Damage} */
  const damage = {
    kills: [],
    mishaps: [],
    outages: [],
    stops: 0,
    drains: 0,
    cuts: 0,
    delays: 0,
    restarts: 0,
    violations: [],
  };
  const underWay = new Set();
  let isDatabaseBusy = false;

  const mishaps = {
    async kill(slot) {
      const { pid, since } = slot;
      damage.kills.push({ pid, since, at: monotonicMs(), others: othersOf(slot) });
      slot.signal('SIGKILL');
      await slot.ended;
      // Sometimes at once, as a supervisor would; sometimes so late that the lease must lapse.
      await pause(
        random() < 0.6 ? between(random, 0, 2_000) : between(random, 0, leaseMs * 1.5),
        signal,
      );
      slot.start();
      await slot.started;
    },
    async stop(slot) {
      damage.stops += 1;
      slot.signal('SIGSTOP');
      await pause(between(random, leaseMs * 1.1, leaseMs * 2), signal);
      slot.signal('SIGCONT');
    },
    async drain(slot) {
      damage.drains += 1;
      const { pid } = slot;
      slot.signal('SIGTERM');
      // Settling takes up to 5 s, the blocked thread cannot even hear the signal, the database may be away, the machine slow.
      const latest = (drainSeconds + 5 + 60) * 1_000 + blockMs;
      const end = await within(latest, slot.ended);
      if (end === undefined) {
        damage.violations.push(
          `${slot.name}, pid ${pid}, did not end within ${latest} ms of SIGTERM`,
        );
        slot.signal('SIGKILL');
        await slot.ended;
      } else if (end.code !== 143 && end.code !== 4) {
        damage.violations.push(
          `${slot.name}, pid ${pid}, ended with ${end.code ?? end.signal} after SIGTERM`,
        );
      }
      slot.start();
      await slot.started;
    },
    async cut(slot) {
      damage.cuts += 1;
      if (random() < 0.3) slot.traits.proxy.refuse();
      else slot.traits.proxy.cut();
      await pause(between(random, 1_000, leaseMs * 2), signal);
      slot.traits.proxy.heal();
    },
    async delay(slot) {
      damage.delays += 1;
      slot.traits.proxy.delay(between(random, 100, 1_500));
      await pause(between(random, 2_000, leaseMs * 2), signal);
      slot.traits.proxy.heal();
    },
  };

  /** Runners that are at work and left alone; neighbours can see that the process is gone. */
  function othersOf(slot) {
    return slots
      .filter((other) => other !== slot && other.isServing && other.busy === null)
      .map(({ number, pid, since, traits }) => ({
        number,
        pid,
        since,
        isNeighbour: traits.host === slot.traits.host,
      }));
  }

  async function restartDatabase() {
    damage.restarts += 1;
    isDatabaseBusy = true;
    const outage = { from: monotonicMs(), until: Number.POSITIVE_INFINITY };
    damage.outages.push(outage);
    await database.kill();
    await pause(between(random, 200, 3_000), signal);
    await database.restart();
    outage.until = monotonicMs();
    isDatabaseBusy = false;
  }

  function choose() {
    const free = slots.filter((slot) => slot.busy === null && slot.isServing);
    if (free.length < 2) return;
    const slot = oneOf(random, free);
    const { proxy } = slot.traits;
    const kind = oneOf(random, proxy === null ? anywhere : throughProxy);
    // Drawn all the same, so that a seed stands for the same sequence.
    if (only !== undefined && !only.includes(kind)) return;
    tell(`${kind} ${slot.name}, pid ${slot.pid}`);
    slot.busy = kind;
    const mishap = {
      number: slot.number,
      kind,
      from: monotonicMs(),
      until: Number.POSITIVE_INFINITY,
    };
    damage.mishaps.push(mishap);
    start(
      mishaps[kind](slot).finally(() => {
        slot.busy = null;
        mishap.until = monotonicMs();
      }),
    );
  }

  function start(mishap) {
    const watched = mishap
      .catch((error) => damage.violations.push(`the adversary failed: ${error.stack}`))
      .finally(() => underWay.delete(watched));
    underWay.add(watched);
  }

  while (!signal.aborted) {
    if (random() < 0.1) {
      if (database.kill === undefined || isDatabaseBusy) continue;
      if (only !== undefined && !only.includes('restart')) continue;
      tell('restart the database');
      start(restartDatabase());
    } else choose();
    await pause(between(random, 700, 3_500), signal);
  }
  await Promise.all(underWay);
  return damage;
}
