/** The parts of a runner, wired to a test process: its scheduler, and its claimer with its executor, each for one look. */
import { once } from 'node:events';
import type { ExecutableJob, Store } from '@flowline/core/internal';
import type { TestProcess } from '@flowline/core/testing';
import { Claimer } from '../../packages/runner/src/claim/claimer.js';
import { RunnerEmitter } from '../../packages/runner/src/events.js';
import { Definitions } from '../../packages/runner/src/execution/definitions.js';
import type { ExecutionEnvironment } from '../../packages/runner/src/execution/execute-attempt.js';
import { Executor } from '../../packages/runner/src/execution/executor.js';
import type { LeaseKeeper } from '../../packages/runner/src/lease/keeper.js';
import { type RunnerSettings, resolveRunnerOptions } from '../../packages/runner/src/options.js';
import { Scheduler } from '../../packages/runner/src/scheduler/scheduler.js';

/** What the handlers of a scene do, by job; the others return their job's id. */
export type Handlers = Readonly<Record<string, (context: HandlerContext) => unknown>>;

export interface HandlerContext {
  readonly attempt: number;
  readonly signal: AbortSignal;
  readonly log: { info(message: string): void };
}

let runners = 0;

export class Parts {
  readonly runnerId: string;
  readonly store: Store;
  readonly events = new RunnerEmitter();
  readonly #process: TestProcess;

  constructor(process: TestProcess, runnerId?: string) {
    runners += 1;
    this.#process = process;
    this.runnerId = runnerId ?? `runner-${runners}`;
    const { store } = process;
    // Nobody waits here for a finisher that may only be slow.
    this.store = Object.assign(Object.create(store) as Store, {
      payPropagation: () => store.payPropagation(0),
      finishHalfMadeRuns: () => store.finishHalfMadeRuns(0),
    });
  }

  /** One tick of the leader: leadership, every duty, and leadership given back. Throws what a duty threw. */
  async lead(): Promise<void> {
    const scheduler = new Scheduler({
      store: this.store,
      runnerId: this.runnerId,
      // What is held with a shorter lease than this is expired at once, and yet some runner was heard.
      settings: this.#settings(60_000),
      events: this.events,
      onReady: () => {},
      onDeath: () => {},
    });
    const failed: unknown[] = [];
    this.events.on('failed', (_loop, error) => failed.push(error));
    const over = Promise.race([once(this.events, 'ticked'), once(this.events, 'failed')]);
    scheduler.start();
    await over;
    await scheduler.stop();
    if (failed.length > 0) throw failed[0];
  }

  /** Claims and executes until nothing is found and nothing runs. */
  async work(jobs: ReadonlyMap<string, ExecutableJob>): Promise<void> {
    const { claimer } = this.start(jobs);
    await once(this.events, 'idle');
    await claimer.stop();
  }

  start(jobs: ReadonlyMap<string, ExecutableJob>): { claimer: Claimer; executor: Executor } {
    const env: ExecutionEnvironment = {
      runnerId: this.runnerId,
      store: this.store,
      definitions: new Definitions(this.store),
      jobs,
      keeper: noKeeper,
      // A lease that is over when the process dies.
      settings: this.#settings(1),
      events: this.events,
      forced: new AbortController().signal,
    };
    const executor = new Executor(env, (_claim, end) => {
      if (end.retryInMs !== null) claimer.wakeIn(end.retryInMs);
      claimer.wake();
    });
    const claimer = new Claimer(env, executor);
    claimer.start();
    return { claimer, executor };
  }

  #settings(leaseMs: number): RunnerSettings {
    return {
      ...resolveRunnerOptions({ clock: this.#process.clock, random: () => 0.5 }),
      leaseMs,
      // By the process's fast clock, too, which must not run out of it on a slow machine.
      leadershipMs: 6_000_000,
      settleMs: 1_000,
      // It is woken by what it makes ready itself; nobody else does.
      pollMs: { busy: 5_000, idle: 5_000 },
    };
  }
}

/** Leases are renewed by a thread with a connection of its own; a scenario that wants renewals sends them itself. */
const noKeeper = { hold() {}, drop() {}, pause() {}, resume() {} } as unknown as LeaseKeeper;

/** What a process needs to run the jobs of a DAG. */
export function executable(
  dagId: string,
  jobIds: readonly string[],
  handlers: Handlers = {},
): ReadonlyMap<string, ExecutableJob> {
  return new Map(
    jobIds.map((jobId) => {
      const serveKey = `${dagId}/${jobId}/0`;
      const run = (context: unknown) =>
        handlers[jobId] === undefined ? jobId : handlers[jobId](context as HandlerContext);
      return [
        serveKey,
        { serveKey, dagId, jobId, create: () => ({ run }), retryOn: [], abortOn: [] },
      ];
    }),
  );
}
