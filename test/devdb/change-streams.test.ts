import {
  type ChangeStream,
  type ChangeStreamOptions,
  type CommandSucceededEvent,
  type Document,
  Double,
  MongoClient,
} from 'mongodb';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDevelopmentDatabase, type TestDatabase } from '../support/database.ts';

interface Thing {
  _id: number;
  n?: number;
  list?: number[];
}

let database: TestDatabase;
let client: MongoClient;
const open: ChangeStream[] = [];

beforeAll(async () => {
  database = await openDevelopmentDatabase();
  client = await new MongoClient(database.uri, { monitorCommands: true }).connect();
});

beforeEach(async () => {
  await things().drop();
  await things().insertOne({ _id: 0, n: 0 });
});

afterEach(async () => {
  for (const stream of open.splice(0)) await stream.close();
});

afterAll(async () => {
  await client.close();
  await database.close();
});

const db = () => client.db(database.databaseName);
const things = () => db().collection<Thing>('things');

/** A stream and what it tells of, in order. */
class Watch {
  readonly stream: ChangeStream<Document>;
  #pending: Promise<Document> | undefined;

  constructor(stream: ChangeStream<Document>) {
    this.stream = stream;
    open.push(stream);
  }

  /** Resolves when the cursor is open on the server: what happens from then on is in the stream. */
  async opened(): Promise<this> {
    const replied = new Promise<void>((resolve) => {
      const listen = ({ commandName }: CommandSucceededEvent) => {
        if (commandName !== 'aggregate') return;
        client.off('commandSucceeded', listen);
        resolve();
      };
      client.on('commandSucceeded', listen);
    });
    this.#pending = this.stream.next();
    this.#pending.catch(() => {});
    await Promise.race([replied, this.#pending]);
    return this;
  }

  async next(): Promise<Document> {
    const pending = this.#pending;
    this.#pending = undefined;
    return pending ?? this.stream.next();
  }

  async take(count: number): Promise<Document[]> {
    const events: Document[] = [];
    while (events.length < count) events.push(await this.next());
    return events;
  }
}

/** Watches the collection; resolves when the stream is open. */
function watching(pipeline: Document[] = [], options: ChangeStreamOptions = {}): Promise<Watch> {
  return new Watch(things().watch(pipeline, { maxAwaitTimeMS: 10_000, ...options })).opened();
}

const kinds = (events: readonly Document[]) => events.map((event) => event.operationType);

describe('change streams', () => {
  test('tell of inserts, updates, replacements and deletes in order', async () => {
    const stream = await watching();
    await things().insertOne({ _id: 1, n: 1 });
    await things().updateOne({ _id: 1 }, { $set: { n: 2 }, $push: { list: 5 } });
    await things().replaceOne({ _id: 1 }, { n: 3 });
    await things().deleteOne({ _id: 1 });
    const events = await stream.take(4);
    expect(kinds(events)).toEqual(['insert', 'update', 'replace', 'delete']);
    expect(events[0]?.fullDocument).toEqual({ _id: 1, n: 1 });
    expect(events[1]).toMatchObject({
      documentKey: { _id: 1 },
      updateDescription: { updatedFields: { n: 2, list: [5] }, removedFields: [] },
    });
    expect(events[2]?.fullDocument).toEqual({ _id: 1, n: 3 });
    expect(events[3]).not.toHaveProperty('fullDocument');
  });

  test('say nothing of an update that changes nothing', async () => {
    const stream = await watching();
    await things().updateOne({ _id: 0 }, { $set: { n: 0 } });
    await things().insertOne({ _id: 2 });
    expect(kinds(await stream.take(1))).toEqual(['insert']);
  });

  test('go through a pipeline', async () => {
    const stream = await watching([
      { $match: { operationType: 'insert', 'fullDocument.n': { $gt: 5 } } },
      { $project: { n: '$fullDocument.n' } },
    ]);
    await things().insertMany([
      { _id: 1, n: 1 },
      { _id: 2, n: 9 },
    ]);
    const [event] = await stream.take(1);
    expect(event).toEqual({ _id: event?._id, n: 9 });
  });

  test('end with an error when the pipeline takes the token away', async () => {
    const stream = await watching([{ $project: { _id: 0 } }]);
    await things().insertOne({ _id: 1 });
    await expect(stream.next()).rejects.toThrow(/_id/);
  });

  test('refuse stages that cannot follow', async () => {
    const stream = new Watch(things().watch([{ $group: { _id: 1 } }]));
    await expect(stream.next()).rejects.toMatchObject({ code: 20 });
  });

  test('look up the document as it is by then', async () => {
    const stream = await watching([], { fullDocument: 'updateLookup' });
    await things().updateOne({ _id: 0 }, { $inc: { n: 1 } });
    await things().updateOne({ _id: 0 }, { $inc: { n: 1 } });
    await things().deleteOne({ _id: 0 });
    const events = await stream.take(3);
    expect(kinds(events)).toEqual(['update', 'update', 'delete']);
    for (const event of events.slice(0, 2)) expect(event).toHaveProperty('fullDocument');
  });

  test('go on behind a token', async () => {
    const stream = await watching();
    await things().insertMany([{ _id: 1 }, { _id: 2 }, { _id: 3 }]);
    const [first] = await stream.take(1);
    await stream.stream.close();
    for (const options of [{ resumeAfter: first?._id }, { startAfter: first?._id }]) {
      const resumed = await watching([], options);
      const events = await resumed.take(2);
      expect(events.map((event) => event.documentKey._id)).toEqual([2, 3]);
    }
  });

  test('begin at a time', async () => {
    const stream = await watching();
    await things().insertMany([{ _id: 1 }, { _id: 2 }]);
    const [, second] = await stream.take(2);
    const later = await watching([], { startAtOperationTime: second?.clusterTime });
    expect((await later.take(1))[0]?.documentKey).toEqual({ _id: 2 });
  });

  test('end when the collection is dropped, and begin behind that with startAfter only', async () => {
    const stream = await watching();
    await things().drop();
    const events = await stream.take(2);
    expect(kinds(events)).toEqual(['drop', 'invalidate']);
    const token = events[1]?._id;
    const refused = new Watch(things().watch([], { resumeAfter: token }));
    await expect(refused.next()).rejects.toThrow();
    const next = await watching([], { startAfter: token });
    await things().insertOne({ _id: 7 });
    expect((await next.take(1))[0]?.documentKey).toEqual({ _id: 7 });
  });

  test('are over when they go on behind the event that ended them', async () => {
    const stream = await watching();
    await things().drop();
    const [dropped] = await stream.take(2);
    await things().insertOne({ _id: 7 });
    for (const start of ['resumeAfter', 'startAfter'] as const) {
      const next = await watching([], { [start]: dropped?._id });
      expect(await next.take(1)).toMatchObject([{ operationType: 'invalidate' }]);
    }
    const renamed = await watching();
    await things().rename('renamed');
    const [event] = await renamed.take(2);
    expect(event?.operationType).toBe('rename');
    const next = await watching([], { resumeAfter: event?._id });
    expect(await next.take(1)).toMatchObject([{ operationType: 'invalidate' }]);
    // The database goes on, and so does what begins behind the end.
    const whole = new Watch(db().watch([], { resumeAfter: dropped?._id, maxAwaitTimeMS: 10_000 }));
    expect(kinds(await whole.take(1))).toEqual(['insert']);
    await db().dropCollection('renamed');
    const behind = await watching();
    await things().insertOne({ _id: 8 });
    expect(kinds(await behind.take(1))).toEqual(['insert']);
  });

  test('go on behind a place that happens to be that of a drop', async () => {
    await things().drop();
    const pipeline = [{ $changeStream: {} }];
    const { cursor } = await db().command({ aggregate: 'things', pipeline, cursor: {} });
    await db().command({ killCursors: 'things', cursors: [cursor.id] });
    const place = cursor.postBatchResumeToken;
    await things().insertOne({ _id: 7 });
    const next = await watching([], { resumeAfter: place });
    expect(kinds(await next.take(1))).toEqual(['insert']);
  });

  test('tell of a collection that takes the place of another by one rename', async () => {
    const others = db().collection<Thing>('others');
    await others.insertOne({ _id: 1 });
    const old = await watching();
    const other = await new Watch(others.watch([], { maxAwaitTimeMS: 10_000 })).opened();
    await others.rename('things', { dropTarget: true });
    for (const stream of [old, other]) {
      const events = await stream.take(2);
      expect(kinds(events)).toEqual(['rename', 'invalidate']);
      expect(events[0]).toMatchObject({ ns: { coll: 'others' }, to: { coll: 'things' } });
    }
  });

  test('tell of the result of $out by one rename', async () => {
    await db().collection<Thing>('source').insertOne({ _id: 1 });
    const stream = await watching();
    await db()
      .collection('source')
      .aggregate([{ $out: 'things' }])
      .toArray();
    const events = await stream.take(2);
    expect(kinds(events)).toEqual(['rename', 'invalidate']);
    expect(events[0]).toMatchObject({ to: { db: database.databaseName, coll: 'things' } });
  });

  test('tell of $merge as of a $set, or by the whole document', async () => {
    await things().insertOne({ _id: 1, n: 1, list: [1] });
    await db()
      .collection<Thing>('source')
      .replaceOne({ _id: 1 }, { n: 2, list: [1] }, { upsert: true });
    const stream = await watching();
    const source = db().collection('source');
    await source.aggregate([{ $merge: 'things' }]).toArray();
    await source.aggregate([{ $merge: 'things' }]).toArray();
    await source
      .aggregate([{ $unset: 'list' }, { $merge: { into: 'things', whenMatched: 'replace' } }])
      .toArray();
    const [update, replacement] = await stream.take(2);
    expect(update?.updateDescription).toEqual({ updatedFields: { n: 2 }, removedFields: [] });
    expect(replacement).toMatchObject({ operationType: 'replace', fullDocument: { _id: 1, n: 2 } });
  });

  test.each<[string, Document, Document, Document, string[], Document?]>([
    ['$set of a document', {}, { $set: { x: { y: 1, z: 2 } } }, { x: { y: 1, z: 2 } }, []],
    [
      '$set in its place',
      { x: { y: 0, w: 1 } },
      { $set: { x: { y: 1, z: 2 } } },
      { x: { y: 1, z: 2 } },
      [],
    ],
    [
      '$set by paths',
      { x: 1 },
      { $set: { 'o.p': 1, 'l.1': 2, x: 1 } },
      { 'l.1': 2, 'o.p': 1 },
      [],
      { l: [1] },
    ],
    [
      '$set to another zero',
      { x: 0.5, y: new Double(0) },
      { $set: { x: 1, y: -0 } },
      { x: 1, y: -0 },
      [],
    ],
    [
      '$unset',
      { x: { y: 1 }, l: [1, 2] },
      { $unset: { 'x.y': 1, 'l.0': 1, z: 1 } },
      {},
      ['l.0', 'x.y'],
    ],
    ['$rename', { o: { p: 1 } }, { $rename: { o: 'oo' } }, { oo: { p: 1 } }, ['o']],
    ['$rename to an equal one', { a: 1, b: 1 }, { $rename: { a: 'b' } }, { b: 1 }, ['a']],
    ['$inc and $max', { x: 1, o: { p: 1 } }, { $inc: { x: 1 }, $max: { 'o.p': 0 } }, { x: 2 }, []],
    [
      '$push at the end',
      { l: [1, 2] },
      { $push: { l: { $each: [3, 4] } } },
      { 'l.2': 3, 'l.3': 4 },
      [],
    ],
    ['$push to an empty array', { l: [] }, { $push: { l: 1 } }, { l: [1] }, []],
    [
      '$push in front',
      { l: [1, 2] },
      { $push: { l: { $each: [3], $position: 0 } } },
      { l: [3, 1, 2] },
      [],
    ],
    [
      '$push that sorts',
      { l: [1, 2] },
      { $push: { l: { $each: [3], $sort: 1 } } },
      { l: [1, 2, 3] },
      [],
    ],
    [
      '$push that cuts',
      { l: [1, 2] },
      { $push: { l: { $each: [3], $slice: -2 } } },
      { l: [2, 3] },
      [],
    ],
    [
      '$push that cuts nothing',
      { l: [1] },
      { $push: { l: { $each: [3], $slice: -2 } } },
      { 'l.1': 3 },
      [],
    ],
    ['$addToSet', { l: [1] }, { $addToSet: { l: 2 } }, { l: [1, 2] }, []],
    ['$pull', { l: [1, 2, 3] }, { $pull: { l: 3 } }, { l: [1, 2] }, []],
    ['$pop', { l: [1, 2, 3] }, { $pop: { l: 1 } }, { l: [1, 2] }, []],
    ['$[] of several', { l: [1, 2] }, { $inc: { 'l.$[]': 1 } }, { l: [2, 3] }, []],
    ['$[] that changes one', { l: [1, 2] }, { $max: { 'l.$[]': 2 } }, { 'l.0': 2 }, []],
    ['$[] of one', { d: [{ k: 1 }] }, { $set: { 'd.$[].k': 2 } }, { 'd.0.k': 2 }, []],
  ])(
    'tell of what %s has set',
    async (_, before, update, updatedFields, removedFields, more = {}) => {
      await things().replaceOne({ _id: 0 }, { ...before, ...more });
      const stream = await watching();
      await things().updateOne({ _id: 0 }, update);
      const [event] = await stream.take(1);
      expect(event?.updateDescription).toEqual({ updatedFields, removedFields });
      expect(Object.keys(event?.updateDescription.updatedFields)).toEqual(
        Object.keys(updatedFields),
      );
    },
  );

  test('watch a database', async () => {
    const stream = await new Watch(db().watch([], { maxAwaitTimeMS: 10_000 })).opened();
    await things().insertOne({ _id: 1 });
    await db().collection<Thing>('others').insertOne({ _id: 2 });
    const events = await stream.take(2);
    expect(events.map((event) => event.ns.coll)).toEqual(['things', 'others']);
  });

  test('tell of a transaction as a whole and only once it is committed', async () => {
    const stream = await watching();
    const session = client.startSession();
    session.startTransaction();
    await things().insertOne({ _id: 1 }, { session });
    await things().insertOne({ _id: 2 });
    await things().updateOne({ _id: 0 }, { $inc: { n: 1 } }, { session });
    await session.commitTransaction();
    session.startTransaction();
    await things().insertOne({ _id: 3 }, { session });
    await session.abortTransaction();
    await session.endSession();
    await things().insertOne({ _id: 4 });
    const events = await stream.take(4);
    expect(events.map((event) => event.documentKey._id)).toEqual([2, 1, 0, 4]);
    expect(events[1]?.txnNumber).toEqual(events[2]?.txnNumber);
    expect(events[0]).not.toHaveProperty('txnNumber');
  });

  test('wake a waiting reader at once', async () => {
    const stream = await watching([], { maxAwaitTimeMS: 30_000 });
    const waiting = stream.next();
    const startedAt = performance.now();
    await things().insertOne({ _id: 1 });
    expect(await waiting).toMatchObject({ operationType: 'insert' });
    expect(performance.now() - startedAt).toBeLessThan(28_000);
  });

  test('can be closed while a reader waits', async () => {
    const stream = await watching([], { maxAwaitTimeMS: 30_000 });
    const waiting = stream.next().then(
      () => 'an event',
      () => 'closed',
    );
    await stream.stream.close();
    expect(await waiting).toBe('closed');
  });
});
