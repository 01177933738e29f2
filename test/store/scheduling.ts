/** What the tests of schedules, deploys and backfills share: definitions, stores that die, and runs that end. */
import { shareConnection, underFaults } from '@flowline/core/testing';
import { type Db, MongoClient } from 'mongodb';
import { versionOf } from '../../packages/core/src/compiler/canonical.js';
import type { DagDefinition } from '../../packages/core/src/model/definition.js';
import type {
  BackfillDocument,
  Collections,
  DagDocument,
} from '../../packages/core/src/store/collections.js';
import { collectionsOf } from '../../packages/core/src/store/collections.js';
import { connectStore } from '../../packages/core/src/store/connect.js';
import type { OperationInterceptor } from '../../packages/core/src/store/intercept.js';
import type { Store } from '../../packages/core/src/store/store.js';
import { toSchedule } from '../../packages/core/src/time/schedule/parse-schedule.js';
import type { ScheduleInput } from '../../packages/core/src/time/schedule/schedule-input.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';

/** One database with a store on it, a second way in to look and to set the scene, and more stores on demand. */
export class Bench {
  readonly store: Store;
  readonly db: Db;
  readonly collections: Collections;
  readonly #database: TestDatabase;
  readonly #client: MongoClient;
  readonly #stores: Store[] = [];
  #names = 0;

  private constructor(database: TestDatabase, client: MongoClient, store: Store) {
    this.#database = database;
    this.#client = client;
    this.store = store;
    this.db = client.db(database.databaseName);
    this.collections = collectionsOf(this.db);
  }

  static async open(): Promise<Bench> {
    const database = await openTestDatabase();
    const store = await connectStore({ uri: database.uri, database: database.databaseName });
    await store.prepare();
    return new Bench(database, await MongoClient.connect(database.uri), store);
  }

  get uri(): string {
    return this.#database.uri;
  }

  get connection(): { readonly uri: string; readonly database: string } {
    return { uri: this.#database.uri, database: this.#database.databaseName };
  }

  /** Another process, as far as the database can tell. Looks at the server's clock are not for the interceptor. */
  async connect(intercept?: OperationInterceptor): Promise<Store> {
    const { uri, databaseName } = this.#database;
    const withoutClock: OperationInterceptor = (operation, run) =>
      operation.collection === '' ? run() : intercept!(operation, run);
    const store = await connectStore(
      { uri, database: databaseName },
      intercept === undefined ? {} : { intercept: withoutClock },
    );
    this.#stores.push(store);
    return store;
  }

  async close(): Promise<void> {
    for (const store of this.#stores) await store.close();
    await this.store.close();
    await this.#client.close();
    await this.#database.close();
  }

  /** Forgets when runners were heard: nothing is known of a time without the database, so no rescue is put off. */
  async heardThroughout(): Promise<void> {
    await this.collections.presence.deleteMany({});
  }

  /** A DAG id that no other test of the file has. */
  id(name = 'dag'): string {
    this.#names += 1;
    return `${name}-${this.#names}`;
  }

  /** Deploys a DAG of one job. */
  async deploy(
    id: string,
    schedule?: ScheduleInput,
    options?: Partial<DagDefinition>,
  ): Promise<DagDefinition> {
    const definition = definitionOf(id, schedule, options);
    await this.store.deployDag(deployment(definition));
    return definition;
  }

  async dag(id: string): Promise<DagDocument> {
    const dag = await this.collections.dags.findOne({ _id: id });
    if (dag === null) throw new Error(`no DAG ${id}`);
    return dag;
  }

  /** Takes the cursor back, as if nobody had looked since then: deciding instants are the database's. */
  async rewind(id: string, nextFireAt: Date): Promise<void> {
    await this.collections.dags.updateOne({ _id: id }, { $set: { nextFireAt, nextJitterMs: 0 } });
  }

  /** Settles batch after batch; answers how many batches it took. */
  async settle(id: string, store = this.store): Promise<number> {
    for (let batches = 1; ; batches += 1) {
      if (!(await store.settleSchedule(id)).more) return batches;
    }
  }

  /** Every logical date that is accounted for, with what became of it; a date in two places fails. */
  async ledger(id: string): Promise<Map<string, string>> {
    const ledger = new Map<string, string>();
    const put = (date: Date, what: string) => {
      const key = date.toISOString();
      if (ledger.has(key)) throw new Error(`${key}: ${ledger.get(key)} and ${what}`);
      ledger.set(key, what);
    };
    for (const run of await this.collections.runs.find({ dagId: id }).toArray()) {
      put(run.logicalDate!, run.cause);
    }
    for (const fire of await this.collections.fires.find({ dagId: id }).toArray()) {
      put(fire.from, fire.count === 1 ? fire.reason : `${fire.reason} x ${fire.count}`);
    }
    return ledger;
  }

  async backfill(id: string): Promise<BackfillDocument> {
    const backfill = await this.collections.backfills.findOne({ _id: id });
    if (backfill === null) throw new Error(`no backfill ${id}`);
    return backfill;
  }

  /** Runs the tasks that are ready, at most `limit` of them, and ends their runs. Answers the ids of the runs. */
  async work(
    dagId: string,
    options: { limit?: number; outcome?: 'succeeded' | 'failed'; store?: Store } = {},
  ): Promise<string[]> {
    const { limit = 100, outcome = 'succeeded', store = this.store } = options;
    const claimed = await store.claimTasks({
      runnerId: 'worker',
      serveKeys: [serveKeyOf(dagId)],
      leaseMs: 60_000,
      limit,
    });
    for (const task of claimed) {
      await store.finishAttempt({
        taskId: task.taskId,
        runnerId: 'worker',
        token: task.token,
        attempt: task.attempt,
        outcome:
          outcome === 'succeeded'
            ? { kind: 'succeeded', result: null }
            : { kind: 'failed', error: { name: 'Error', message: 'asked to' } },
      });
      await store.propagate(task.taskId);
    }
    return claimed.map((task) => task.runId);
  }
}

function serveKeyOf(dagId: string): string {
  return `${dagId}/only/0`;
}

/** A sound definition of one job, on-demand unless a schedule is given. */
export function definitionOf(
  id: string,
  schedule?: ScheduleInput,
  options: Partial<DagDefinition> = {},
): DagDefinition {
  return {
    schema: 1,
    id,
    ...(schedule === undefined ? {} : { schedule: toSchedule(schedule) }),
    misfire: { policy: 'coalesce', maxCatchUp: 100 },
    onResume: 'skip',
    overlap: 'queue',
    maxActiveRuns: 1,
    maxQueuedRuns: 100,
    retention: { runsMs: 86_400_000, logsMs: 86_400_000 },
    jobs: [
      {
        id: 'only',
        dependsOn: [],
        serveKey: serveKeyOf(id),
        queue: 'default',
        priority: 0,
        retry: {
          attempts: 1,
          backoff: { type: 'fixed', delayMs: 0, maxMs: 0, factor: 1, jitter: 'none' },
        },
        timeoutMs: 60_000,
        onLost: 'retry',
        maxLost: 3,
        allowFailure: false,
      },
    ],
    ...options,
  };
}

export function deployment(definition: DagDefinition, project = 'tests') {
  return { definition, version: versionOf(definition), project };
}

export class Killed extends Error {}

/**
 * Lets `act` die before every one of its operations in turn: what it sent until then is applied, nothing after it is. (Dying
 * after an operation is dying before the next one.) `scene` sets a scene of its own for each death; `check` repairs what is
 * left, as the survivors would, and looks at it. Answers how many deaths there were.
 */
export async function atEveryDeath<Scene>(
  bench: Bench,
  steps: {
    scene(): Promise<Scene>;
    act(store: Store, scene: Scene): Promise<unknown>;
    check(scene: Scene, where: string): Promise<void>;
  },
): Promise<number> {
  const connection = await shareConnection(bench.connection);
  try {
    for (let deaths = 0; ; deaths += 1) {
      const scene = await steps.scene();
      const { ending } = await underFaults({
        connection,
        plan: [{ kind: 'die-before', at: deaths + 1 }],
        act: ({ store }) => steps.act(store, scene),
      });
      if (ending.how === 'threw') throw ending.error;
      if (ending.how === 'returned') return deaths;
      await steps.check(scene, `died before operation ${deaths + 1}`);
    }
  } finally {
    await connection.close();
  }
}

/**
 * A schedule half way between two of its fires, so that none comes due while a test runs, whatever the hour: a test that settles
 * and then looks would otherwise fail across midnight. `shiftMs` keeps two of them apart.
 */
export function betweenFires(everyHours: number, shiftMs = 0) {
  const stepMs = everyHours * 3_600_000;
  // More than ten years of dates, and half a step.
  const backMs = (Math.ceil(100_000 / everyHours) + 0.5) * stepMs;
  const startAt = new Date(Date.now() - backMs + shiftMs).toISOString();
  return { every: `${everyHours}h`, startAt };
}

/** Days in January 2026 and after, for backfills; its last date is long past, so that none comes due. */
export const pastDaily = { cron: '0 0 * * *', endAt: '2026-09-01' } as const;

/** Whole minutes before an instant. */
export function minutesBefore(instant: Date, minutes: number): Date {
  return new Date(instant.getTime() - minutes * 60_000);
}
