/**
 * Rescue at once where a death can be proved. Every runner looks at the runners of its own machine: one whose process
 * is certainly gone has its tasks rescued now instead of when its leases lapse, and gives up leadership.
 *
 * Two neighbours may do so at once: the store's guards (state, holder, token, epoch) let one of them count. If this
 * process dies in between, the leases lapse as usual.
 */
import type { RunnerRecord, Store } from '@flowline/core/internal';
import type { RunnerEmitter } from './events.js';
import { isProvablyDead, type RunnerIdentity } from './identity.js';
import { Loop } from './loop.js';
import type { RunnerSettings } from './options.js';

const lookEveryMs = 1_000;
const listEveryMs = 5_000;

export interface NeighbourOptions {
  readonly store: Store;
  readonly me: RunnerIdentity;
  readonly settings: RunnerSettings;
  readonly events: RunnerEmitter;
  /** Tasks became ready, or leadership became free. */
  readonly onFreed: () => void;
  /** After each list of the neighbours. */
  readonly onLook: () => void;
}

/** The loop that watches the neighbours; stop() ends it. */
export function watchNeighbours(options: NeighbourOptions): Loop {
  const { store, me, settings, events, onFreed, onLook } = options;
  let neighbours: RunnerRecord[] = [];
  let listAt = 0;

  async function turn(): Promise<number> {
    const now = settings.clock.monotonicMs();
    if (now >= listAt) {
      // Listing is a query, looking at a pid is not: list seldom, look often.
      neighbours = (await store.listRunners()).filter((other) => other.id !== me.id);
      listAt = now + listEveryMs;
      onLook();
    }
    const dead = neighbours.filter((other) => isProvablyDead(other, me));
    for (const other of dead) await bury(other);
    neighbours = neighbours.filter((other) => !dead.includes(other));
    return lookEveryMs;
  }

  async function bury(other: RunnerRecord): Promise<void> {
    const rescued = await store.rescueRunner(other.id);
    const leadership = await store.getLeadership();
    if (leadership?.holder === other.id) await store.releaseLeadership(other.id, leadership.epoch);
    await store.removeRunner(other.id);
    settings.log(
      'warn',
      `the runner ${other.id} (pid ${other.pid}) is dead; rescued ${rescued.length} tasks`,
    );
    for (const task of rescued) events.emit('rescued', task.taskId);
    onFreed();
  }

  return new Loop({
    name: 'neighbours',
    clock: settings.clock,
    random: settings.random,
    turn,
    onError: (error) => settings.log('debug', 'looking at the neighbours failed', { error }),
  });
}
