/**
 * Interleaves the operations of several actors by a seed instead of by luck: every operation waits at a gate, and one at a
 * time is let through, chosen by a pseudo-random sequence. The same seed gives the same order.
 */
import type { OperationInterceptor } from '../../packages/core/src/store/intercept.js';

export class Interleaving {
  readonly #random: () => number;
  readonly #gates: { readonly actor: string; readonly open: () => Promise<void> }[] = [];
  #running = 0;
  /** Who was let through, in order: printed when a seed fails. */
  readonly trace: string[] = [];

  constructor(seed: number) {
    this.#random = mulberry32(seed);
  }

  /** Whole number in [0, below). */
  pick(below: number): number {
    return Math.floor(this.#random() * below);
  }

  /** What the store of an actor is connected with. */
  gate(actor: string): OperationInterceptor {
    return (operation, run) =>
      new Promise((resolve, reject) => {
        this.#gates.push({
          actor: `${actor} ${operation.collection}.${operation.method}`,
          open: () => run().then(resolve, reject),
        });
      });
  }

  /** Runs the actors to their ends. Throws the first error. */
  async run(actors: readonly (() => Promise<void>)[]): Promise<void> {
    const errors: unknown[] = [];
    for (const actor of actors) {
      this.#running += 1;
      void actor()
        .catch((error: unknown) => errors.push(error))
        .finally(() => {
          this.#running -= 1;
        });
    }
    while (this.#running > 0) {
      await settled();
      // In the order of their names: the order of arrival is the network's.
      this.#gates.sort((one, other) => (one.actor < other.actor ? -1 : 1));
      const [gate] = this.#gates.splice(this.pick(this.#gates.length), 1);
      if (gate === undefined) continue;
      this.trace.push(gate.actor);
      await gate.open();
    }
    if (errors.length > 0) throw errors[0];
  }
}

/** Until everything that needs no operation has happened. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
