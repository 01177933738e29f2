/**
 * Interleaves the operations of several processes by a seed instead of by luck.
 *
 * Every operation, and every timer of a process's clock, waits at a gate. When each actor waits at one (or has ended), one gate
 * is opened, chosen by a pseudo-random sequence, and what it let through is done before the next is chosen. So the same seed
 * gives the same order, and time passes only when a timer is chosen.
 *
 * Every second seed chooses evenly. The others give each actor a rank, let the first that waits go on, and send it to the end of
 * the ranks at a few places: so one actor stands still for long while the others go far, which an even choice hardly ever does.
 */
import type { OperationInterceptor } from '../store/intercept.js';
import type { SharedConnection } from '../store/shared-connection.js';
import { seededRandom } from './random.js';
import { type OperationRewriter, type ProcessClock, TestProcess } from './test-process.js';

/** Something that an actor waits for. */
interface Gate {
  readonly actor: string;
  readonly label: string;
  /** In the order of arrival within one actor. */
  readonly number: number;
  readonly open: () => Promise<unknown>;
}

/** How often, and within how many steps, the first of the ranks becomes the last. */
const demotions = 3;
const demotedWithin = 50;

/** An actor that neither asks for anything nor ends for so long hangs. */
const mostWaitMs = 60_000;

export class Interleaving {
  /** Who was let through, in order: printed when a seed fails. */
  readonly trace: string[] = [];
  readonly #random: () => number;
  readonly #gates = new Set<Gate>();
  readonly #running = new Set<string>();
  /** Actors by rank, the first first; null where the choice is even. */
  readonly #ranks: string[] | null;
  readonly #demotions: ReadonlySet<number>;
  #arrivals = 0;
  #nowMs = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.#ranks = seed % 2 === 0 ? [] : null;
    this.#demotions = new Set(Array.from({ length: demotions }, () => this.pick(demotedWithin)));
  }

  /** Whole number in [0, below): for choices that a scenario makes itself. */
  pick(below: number): number {
    return Math.floor(this.#random() * below);
  }

  /** A process whose operations and timers wait for their turn while {@link run} runs. */
  process(name: string, connection: SharedConnection, rewrite?: OperationRewriter): TestProcess {
    return new TestProcess(connection, {
      gate: this.#gate(name),
      clock: this.#clock(name),
      ...(rewrite ? { rewrite } : {}),
    });
  }

  /** Runs the actors to their ends, by name. Throws the first error of theirs; Error when one hangs. */
  async run(actors: Readonly<Record<string, () => Promise<unknown>>>): Promise<void> {
    const errors: unknown[] = [];
    for (const [name, act] of Object.entries(actors)) {
      this.#running.add(name);
      this.#ranks?.splice(this.pick(this.#ranks.length + 1), 0, name);
      void act()
        .catch((error: unknown) => errors.push(error))
        .finally(() => this.#running.delete(name));
    }
    for (;;) {
      await this.#allWait();
      if (this.#running.size === 0) break;
      const gate = this.#choose();
      this.#gates.delete(gate);
      this.trace.push(`${gate.actor} ${gate.label}`);
      this.#nowMs += 1;
      await gate.open();
    }
    if (errors.length > 0) throw errors[0];
  }

  #choose(): Gate {
    const gates = [...this.#gates].sort(byName);
    const ranks = this.#ranks;
    if (ranks === null) return gates[this.pick(gates.length)]!;
    const waits = (name: string) => gates.some((gate) => gate.actor === name);
    if (this.#demotions.has(this.trace.length)) {
      const first = ranks.findIndex(waits);
      ranks.push(...ranks.splice(first, 1));
    }
    const actor = ranks.find(waits);
    const own = gates.filter((gate) => gate.actor === actor);
    return own[this.pick(own.length)]!;
  }

  /** Until each actor that has not ended waits for something. */
  async #allWait(): Promise<void> {
    const deadline = performance.now() + mostWaitMs;
    for (let calm = 0; calm < 2; ) {
      await new Promise((resolve) => setImmediate(resolve));
      const waiting = new Set([...this.#gates].map((gate) => gate.actor));
      const busy = [...this.#running].filter((name) => !waiting.has(name));
      // Once more, for what one actor does several of at once.
      if (busy.length === 0) calm += 1;
      else if (performance.now() > deadline) throw new Error(`${busy.join(' and ')} hang`);
    }
  }

  #arrive(actor: string, label: string, open: () => Promise<unknown>): Gate {
    this.#arrivals += 1;
    const gate = { actor, label, number: this.#arrivals, open };
    this.#gates.add(gate);
    return gate;
  }

  #gate(actor: string): OperationInterceptor {
    return (operation, run) =>
      new Promise((resolve, reject) => {
        const label = `${operation.collection}.${operation.method}`;
        this.#arrive(actor, label, () => run().then(resolve, reject));
      });
  }

  #clock(actor: string): ProcessClock {
    return {
      monotonicMs: () => this.#nowMs,
      after: (delayMs, callback) => {
        const gate = this.#arrive(actor, `waits ${delayMs} ms`, async () => {
          this.#nowMs += delayMs;
          callback();
        });
        return () => this.#gates.delete(gate);
      },
    };
  }
}

/** The order in which operations of different actors arrive is the network's. */
function byName(one: Gate, other: Gate): number {
  if (one.actor !== other.actor) return one.actor < other.actor ? -1 : 1;
  if (one.label !== other.label) return one.label < other.label ? -1 : 1;
  return one.number - other.number;
}
