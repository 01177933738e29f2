import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectEmbedded, type EmbeddedConnection, stopEmbedded } from '@flowline/devdb';
import { type Collection, MongoClient, type MongoClientOptions } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const KILLS = 50;

/** So little that the log is being moved into the tables nearly all of the time: kills must hit that too. */
const CHECKPOINT_BYTES = 1;

/** The driver asks a lost server again at most every half second, which is most of the time between two kills. */
const RECONNECT_QUICKLY = {
  minHeartbeatFrequencyMS: 20,
  heartbeatFrequencyMS: 500,
} as MongoClientOptions;

interface Item {
  _id: string;
  state?: string;
  owner?: string;
  claims?: number;
}

interface Pair {
  _id: string;
  value: number;
}

describe('a server that is killed again and again', () => {
  let directory: string;
  let server: EmbeddedConnection;
  let client: MongoClient;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'devdb-kill-'));
    server = await connectEmbedded(directory, { checkpointBytes: CHECKPOINT_BYTES });
    client = await new MongoClient(server.uri, RECONNECT_QUICKLY).connect();
  });

  afterAll(async () => {
    await client?.close();
    await server?.close();
    await stopEmbedded(directory);
    rmSync(directory, { recursive: true, force: true });
  });

  test(`keeps what it acknowledged through ${KILLS} SIGKILLs under load`, {
    timeout: 240_000,
  }, async () => {
    const db = client.db('kill');
    const items = db.collection<Item>('items');
    const pairs = db.collection<Pair>('pairs');
    await items.createIndex({ state: 1, _id: 1 });
    await pairs.insertMany([
      { _id: 'left', value: 0 },
      { _id: 'right', value: 0 },
    ]);
    const load = new Load(client);
    const workers = load.start();
    const segmentsAtKills: number[] = [];
    try {
      for (let kill = 0; kill < KILLS; kill++) {
        const before = load.acknowledged;
        const { pid } = server;
        // The load must have got through since the last kill, so that each kill hits work.
        await until(() => load.acknowledged >= before + 5);
        process.kill(pid, 'SIGKILL');
        segmentsAtKills.push(countSegments(directory));
        await until(() => server.pid !== pid);
      }
    } finally {
      load.stop();
      await workers;
    }

    // Two or more segments: killed between the switch to a new one and the deletion of the old ones.
    expect(Math.max(...segmentsAtKills)).toBeGreaterThan(1);
    const stored = new Map((await items.find().toArray()).map((item) => [item._id, item]));
    const lost = load.inserted.filter((id) => !stored.has(id));
    expect(lost).toEqual([]);
    for (const [id, owner] of load.claimed) {
      expect(stored.get(id)).toMatchObject({ owner, state: 'done', claims: 1 });
    }
    // A retried claim is answered by the first one, so that no item was claimed twice.
    expect([...stored.values()].filter((item) => (item.claims ?? 0) > 1)).toEqual([]);
    const [left, right] = await pairs.find().sort({ _id: 1 }).toArray();
    expect(left?.value).toBe(right?.value);
    expect(left?.value).toBeGreaterThanOrEqual(load.transfers);
    await expectIndexesAgree(items);
  });

  /** The same question with an index and without one has the same answer. */
  async function expectIndexesAgree(items: Collection<Item>) {
    const filter = { state: 'done' };
    const byIndex = await items
      .find(filter, { hint: { state: 1, _id: 1 } })
      .sort({ _id: 1 })
      .toArray();
    const byScan = await items
      .find(filter, { hint: { $natural: 1 } })
      .sort({ _id: 1 })
      .toArray();
    expect(byIndex).toEqual(byScan);
  }
});

function countSegments(directory: string): number {
  return readdirSync(join(directory, 'data')).filter((name) => name.startsWith('log-')).length;
}

/** Clients that insert, claim, move in transactions and build indexes, and remember what was acknowledged. */
class Load {
  readonly inserted: string[] = [];
  readonly claimed = new Map<string, string>();
  acknowledged = 0;
  transfers = 0;
  #running = true;
  #number = 0;

  constructor(readonly client: MongoClient) {}

  start(): Promise<unknown> {
    return Promise.all([
      this.#repeat(() => this.#insert()),
      this.#repeat(() => this.#insert()),
      this.#repeat(() => this.#claim('a')),
      this.#repeat(() => this.#claim('b')),
      this.#repeat(() => this.#transfer()),
      this.#repeat(() => this.#buildIndex()),
    ]);
  }

  stop(): void {
    this.#running = false;
  }

  async #repeat(step: () => Promise<void>): Promise<void> {
    while (this.#running) {
      // An error is no acknowledgement: what it was about may or may not be there.
      await step().catch(() => {});
    }
  }

  get #items() {
    return this.client.db('kill').collection<Item>('items');
  }

  async #insert(): Promise<void> {
    const _id = `i${String(this.#number++).padStart(8, '0')}`;
    await this.#items.insertOne({ _id, state: 'ready' });
    this.inserted.push(_id);
    this.acknowledged += 1;
  }

  async #claim(name: string): Promise<void> {
    const owner = `${name}${this.#number++}`;
    const item = await this.#items.findOneAndUpdate(
      { state: 'ready' },
      { $set: { state: 'done', owner }, $inc: { claims: 1 } },
      { sort: { _id: 1 } },
    );
    if (item === null) return;
    this.claimed.set(item._id, owner);
    this.acknowledged += 1;
  }

  async #transfer(): Promise<void> {
    const pairs = this.client.db('kill').collection<Pair>('pairs');
    const session = this.client.startSession();
    try {
      await session.withTransaction(async () => {
        await pairs.updateOne({ _id: 'left' }, { $inc: { value: 1 } }, { session });
        await pairs.updateOne({ _id: 'right' }, { $inc: { value: 1 } }, { session });
      });
      this.transfers += 1;
      this.acknowledged += 1;
    } finally {
      await session.endSession();
    }
  }

  async #buildIndex(): Promise<void> {
    const name = await this.#items.createIndex({ owner: 1 });
    await this.#items.dropIndex(name);
    this.acknowledged += 1;
  }
}

/** Waits for a condition; fails after 30 seconds. */
async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 90_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('the awaited state did not come');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
