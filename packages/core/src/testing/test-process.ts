/**
 * A process as the database sees it: a store of its own, with nothing remembered, and a clock. Faults happen to it by plan.
 *
 * Once it is dead, nothing more of it runs: operations that it would send are not sent, answers that are under way do not
 * arrive (their promises never settle), and no timer of its clock fires. What was sent before is applied, as it would be.
 */
import type { OperationInterceptor, StoreOperation } from '../store/intercept.js';
import type { SharedConnection } from '../store/shared-connection.js';
import { lastingDriverError, passingDriverError } from '../store/simulated-errors.js';
import type { Store } from '../store/store.js';
import { type Fault, type FaultPlan, isOfWrites } from './faults.js';

/** The process's own time and timers; what a runner takes as its clock. */
export interface ProcessClock {
  monotonicMs(): number;
  /** Calls back once, after `delayMs` of this clock, unless the process is dead by then. Returns a function that cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

/** Takes guards away, for tests of tests: other arguments for an operation, or undefined to leave it as it is. */
export type OperationRewriter = (operation: StoreOperation) => readonly unknown[] | undefined;

export interface ProcessOptions {
  readonly plan?: FaultPlan;
  readonly rewrite?: OperationRewriter;
  /** Lets every operation wait for its turn: see Interleaving. */
  readonly gate?: OperationInterceptor;
  /** How many times faster than real its clock goes, so that waiting costs nothing. Default 1. */
  readonly speed?: number;
  readonly clock?: ProcessClock;
}

/** How what a process was asked to do came to its end. */
export type Ending =
  | { readonly how: 'returned' }
  | { readonly how: 'threw'; readonly error: unknown }
  | { readonly how: 'died'; readonly fault: Fault };

export class TestProcess {
  readonly store: Store;
  readonly clock: ProcessClock;
  /** What it sent, in order: `tasks.updateOne`. */
  readonly trace: string[] = [];
  readonly #plan: FaultPlan;
  readonly #options: ProcessOptions;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #death: Promise<Fault>;
  #die: (fault: Fault) => void = () => {};
  #isDead = false;
  #writes = 0;
  #fired = 0;

  constructor(connection: SharedConnection, options: ProcessOptions = {}) {
    this.#options = options;
    this.#plan = options.plan ?? [];
    this.#death = new Promise((resolve) => {
      this.#die = resolve;
    });
    this.store = connection.open({ intercept: (operation, run) => this.#pass(operation, run) });
    this.clock = options.clock ?? this.#fastClock(options.speed ?? 1);
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get operations(): number {
    return this.trace.length;
  }

  get writes(): number {
    return this.#writes;
  }

  /** How many faults of the plan have happened. */
  get faults(): number {
    return this.#fired;
  }

  /** Lets the process do something, until it is done or dead, and until the database has done what was sent. */
  async live(act: (process: TestProcess) => Promise<unknown>): Promise<Ending> {
    const acting = act(this).then(
      (): Ending => ({ how: 'returned' }),
      (error: unknown): Ending => ({ how: 'threw', error }),
    );
    const dying = this.#death.then((fault): Ending => ({ how: 'died', fault }));
    const ending = await Promise.race([acting, dying]);
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
    return ending;
  }

  /** From outside: nothing more of it runs. */
  kill(): void {
    this.#isDead = true;
  }

  async #pass<T>(
    operation: StoreOperation,
    run: (args?: readonly unknown[]) => Promise<T>,
  ): Promise<T> {
    if (this.#isDead) return never();
    this.trace.push(`${operation.collection}.${operation.method}`);
    if (operation.isWrite) this.#writes += 1;
    const fault = this.#faultAt(operation);
    if (fault === undefined) return this.#answer(this.#perform(operation, run));
    this.#fired += 1;
    switch (fault.kind) {
      case 'die-before':
        return this.#dieOf(fault);
      case 'die-after':
        // Sent, and then dead at once: whatever else is under way is not heard of either.
        void this.#perform(operation, run).catch(() => {});
        return this.#dieOf(fault);
      case 'lose-answer':
        await this.#perform(operation, run).catch(() => {});
        return this.#answer(Promise.reject(passingDriverError()));
      case 'fail-passing':
        throw passingDriverError();
      case 'fail-for-good':
        throw lastingDriverError();
    }
  }

  #faultAt({ isWrite }: StoreOperation): Fault | undefined {
    const isNow = ({ kind, at }: Fault) =>
      isOfWrites(kind) ? isWrite && at === this.#writes : at === this.trace.length;
    return this.#plan.find(isNow);
  }

  /** Performs the operation, and remembers it until the database has done it. */
  #perform<T>(
    operation: StoreOperation,
    run: (args?: readonly unknown[]) => Promise<T>,
  ): Promise<T> {
    const { rewrite, gate } = this.#options;
    const args = rewrite?.(operation);
    const send = () => run(args);
    const sent = gate === undefined ? send() : gate(operation, send);
    const done: Promise<unknown> = sent.catch(() => {}).finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
    return sent;
  }

  /** What comes back, unless the process is dead by then. */
  async #answer<T>(sent: Promise<T>): Promise<T> {
    try {
      const answer = await sent;
      return this.#isDead ? never() : answer;
    } catch (error) {
      if (this.#isDead) return never();
      throw error;
    }
  }

  #dieOf(fault: Fault): Promise<never> {
    this.#isDead = true;
    this.#die(fault);
    return never();
  }

  #fastClock(speed: number): ProcessClock {
    return {
      monotonicMs: () => performance.now() * speed,
      after: (delayMs, callback) => {
        const timer = setTimeout(
          () => {
            if (!this.#isDead) callback();
          },
          Math.min(delayMs / speed, longestTimerMs),
        );
        timer.unref();
        return () => clearTimeout(timer);
      },
    };
  }
}

const longestTimerMs = 2 ** 31 - 1;

function never(): Promise<never> {
  return new Promise(() => {});
}
