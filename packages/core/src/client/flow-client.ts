import { dagIdOf } from '../compiler/dag-id-of.js';
import type { DagClass, JobClass, ParamsOf } from '../definition/job-types.js';
import { ConflictError, NotFoundError, OptionError, UsageError } from '../errors.js';
import { isId, keySlot } from '../model/ids.js';
import { isClosedRun, type RunState } from '../model/states.js';
import { connectStore } from '../store/connect-lazily.js';
import type { Store } from '../store/store.js';
import { formatDuration, parseDuration } from '../time/duration.js';
import { boundedTimerMs } from '../time/timer.js';
import { type ClientOptions, type OpenedDatabase, openDatabase } from './open-database.js';
import { type RunSnapshot, runSnapshot } from './run-snapshot.js';

interface TriggerBase {
  /** Not before this instant: a Date, or ISO 8601 text with an offset or `Z`. */
  readonly at?: Date | string;
  /** Not before this long from now by the database's clock: `'90s'`. Not together with `at`. */
  readonly delay?: string;
  /**
   * Makes the trigger idempotent: of all triggers of this DAG with one key, one makes a run, and all answer with it. 1 to
   * 200 characters. Remembered for 30 days after the run has ended.
   */
  readonly key?: string;
  /** Why, in words; shown with the run. */
  readonly reason?: string;
}

/** Options of a trigger. `params` is required where the DAG declares params. */
export type TriggerOptions<Params = unknown> = TriggerBase &
  (undefined extends Params ? { readonly params?: Params } : { readonly params: Params });

type TriggerArguments<Params> = undefined extends Params
  ? [options?: TriggerOptions<Params>]
  : [options: TriggerOptions<Params>];

export interface TriggerResult {
  readonly runId: string;
  /** False: a run with this key was there already, and is the one that is named. */
  readonly created: boolean;
}

export interface WaitOptions {
  /** How long to wait at most: `'5m'`. Default: without end. */
  readonly timeout?: string;
  /** Aborting it ends the wait with its reason. The run goes on. */
  readonly signal?: AbortSignal;
  /** Milliseconds between two looks. Default: from 50, growing to 1,000. */
  readonly pollMs?: number;
}

/**
 * Flowline for application code: triggers runs and looks after them. Runs no job itself: a `flow runner` does.
 *
 * One client per process is enough; it is safe to share. The constructor does not connect: the first call does, and a
 * failed connection is tried again by the next call. {@link FlowClient.connect} tells at once whether it works.
 */
export class FlowClient {
  readonly #options: ClientOptions;
  #opened: Promise<{ store: Store; database: OpenedDatabase }> | undefined;
  #isClosed = false;

  constructor(options: ClientOptions = {}) {
    this.#options = options;
  }

  /** A connected client. Throws ConfigError without a usable URI, StoreError when no server answers. */
  static async connect(options: ClientOptions = {}): Promise<FlowClient> {
    const client = new FlowClient(options);
    await client.#open();
    return client;
  }

  /**
   * Creates a run of a DAG, given by its class or its id, and lets it start if there is a place for it. The run is stored
   * when this resolves. Throws NotFoundError for a DAG that is not deployed, ConflictError for a retired one, PayloadError
   * for params that cannot be stored, OptionError for options that cannot be right.
   */
  // One signature and no overloads: then an error is about the params, not about a class that is no text.
  async trigger<Target extends string | DagClass | JobClass>(
    dag: Target,
    ...args: TriggerArguments<Target extends string ? unknown : ParamsOf<Target>>
  ): Promise<TriggerResult> {
    const options: TriggerOptions = args[0] ?? {};
    const dagId = typeof dag === 'string' ? checkId(dag) : dagIdOf(dag);
    if (options.at !== undefined && options.delay !== undefined) {
      throw new OptionError('delay', 'either at or delay', options.delay);
    }
    const at = options.at === undefined ? undefined : instantOf(options.at);
    const delayMs = options.delay === undefined ? undefined : parseDuration(options.delay, 'delay');
    const slot = options.key === undefined ? undefined : keySlot(options.key);
    const { store } = await this.#open();
    const result = await store.createRun({
      dagId,
      cause: 'api',
      ...(options.params === undefined ? {} : { params: options.params }),
      ...(at === undefined ? {} : { notBefore: at }),
      ...(delayMs === undefined ? {} : { delayMs }),
      ...(slot === undefined ? {} : { slot }),
      ...(options.reason === undefined ? {} : { reason: options.reason }),
    });
    // Only spares the wait for the leader's next tick, so its failure is none of the trigger.
    if (result.created) await store.admitRuns(dagId, result.runId).catch(() => {});
    return result;
  }

  /** The run with its tasks and all attempts; null when there is none (any more). */
  async getRun(runId: string): Promise<RunSnapshot | null> {
    const { store } = await this.#open();
    const run = await store.viewRun(runId);
    return run === null ? null : runSnapshot(run);
  }

  /**
   * The run when it has ended, however it ended: look at `state`. Throws NotFoundError when there is no such run,
   * ConflictError (retryable) when it is still open after `timeout`, the signal's reason when that is aborted.
   */
  async waitForRun(runId: string, options: WaitOptions = {}): Promise<RunSnapshot> {
    const { signal } = options;
    const timeoutMs =
      options.timeout === undefined ? Infinity : parseDuration(options.timeout, 'timeout');
    const startedMs = performance.now();
    const { store } = await this.#open();
    for (let round = 0; ; round++) {
      signal?.throwIfAborted();
      const run = await store.getRun(runId);
      if (run === null) throw new NotFoundError(`There is no run ${runId}.`);
      if (isClosedRun(run.state)) {
        const view = await this.getRun(runId);
        if (view !== null) return view;
      }
      const leftMs = timeoutMs - (performance.now() - startedMs);
      if (leftMs <= 0) {
        throw new ConflictError(
          `The run ${runId} is still ${run.state} after ${formatDuration(timeoutMs)}.`,
          { retryable: true, hint: 'It goes on: wait again, or cancel it.' },
        );
      }
      const pauseMs = options.pollMs ?? Math.min(1_000, 50 * 1.5 ** Math.min(round, 20));
      await pause(Math.min(pauseMs, leftMs), signal);
    }
  }

  /**
   * Requests cancellation: what waits is cancelled at once, what runs is told through its signal. Idempotent. `closed` is
   * true when the run had ended before. Throws NotFoundError.
   */
  async cancel(
    runId: string,
    reason?: string,
  ): Promise<{ readonly state: RunState; readonly closed: boolean }> {
    const { store } = await this.#open();
    return store.cancelRun(runId, reason);
  }

  /**
   * Runs tasks of a run that has ended again, in the same run: those of `jobs`, else all that failed, were cancelled or could
   * not run; always with what did not succeed downstream of them, and with `downstream: true` also what did. Answers the jobs
   * whose tasks run again. Throws NotFoundError, and ConflictError for a run that is open, that has nothing to retry, that is
   * removed in less than a day, or whose backfill was cancelled.
   */
  async retry(
    runId: string,
    options: { readonly jobs?: readonly string[]; readonly downstream?: boolean } = {},
  ): Promise<{ readonly jobs: readonly string[] }> {
    const { store } = await this.#open();
    const { dagId, backfillId, jobs } = await store.retryRun(runId, options);
    // Only spares the wait for the leader's next tick, as in trigger().
    const admitting =
      backfillId === null ? store.admitRuns(dagId) : store.feedBackfills({ only: backfillId });
    await admitting.catch(() => {});
    return { jobs };
  }

  /** Closes the connection. Idempotent; calls after it throw UsageError. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = await this.#opened?.catch(() => undefined);
    this.#opened = undefined;
    await opened?.store.close();
    await opened?.database.close();
  }

  /** `await using client = await FlowClient.connect()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #open(): Promise<{ store: Store; database: OpenedDatabase }> {
    if (this.#isClosed) throw new UsageError('This FlowClient is closed.');
    this.#opened ??= this.#connect().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #connect(): Promise<{ store: Store; database: OpenedDatabase }> {
    const database = await openDatabase(this.#options, process.env);
    try {
      return { store: await connectStore(database.connection), database };
    } catch (error) {
      await database.close();
      throw error;
    }
  }
}

function checkId(id: string): string {
  if (isId(id)) return id;
  throw new OptionError(
    'dag',
    'the id of a DAG (lower-case letters, digits, hyphens) or its class',
    id,
  );
}

/** Text without an offset would mean another instant on every machine. */
function instantOf(value: Date | string): Date {
  const date = new Date(value);
  const isAbsolute = typeof value !== 'string' || /(?:Z|[+-]\d{2}:?\d{2})$/i.test(value);
  if (isAbsolute && !Number.isNaN(date.getTime())) return date;
  throw new OptionError('at', "a Date, or text such as '2026-03-01T08:00:00Z'", value);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, boundedTimerMs(ms));
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
