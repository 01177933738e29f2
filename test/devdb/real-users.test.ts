// Programs of other people that live on MongoDB: each does on the development server what it is used for.
import { randomBytes } from 'node:crypto';
import { MongoBackend } from '@agendajs/mongo-backend';
import { Agenda } from 'agenda';
import MongoStore from 'connect-mongo';
import { MongoClient } from 'mongodb';
import mongoose from 'mongoose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDevelopmentDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let client: MongoClient;

beforeAll(async () => {
  database = await openDevelopmentDatabase();
  client = await new MongoClient(database.uri).connect();
});

afterAll(async () => {
  await client.close();
  await database.close();
});

test('agenda runs jobs at once, later and again and again', async () => {
  const done: string[] = [];
  const agenda = new Agenda({
    backend: new MongoBackend({ mongo: client.db(database.databaseName) }),
    processEvery: 50,
  });
  agenda.define('note', async (job: { attrs: { data: unknown } }) => {
    done.push((job.attrs.data as { text: string }).text);
  });
  await agenda.start();
  try {
    await agenda.now('note', { text: 'now' });
    await agenda.schedule(new Date(Date.now() + 100), 'note', { text: 'later' });
    await agenda.every('1 second', 'note', { text: 'again' });
    await until(async () => done.filter((text) => text === 'again').length >= 2);
    expect(done.filter((text) => text === 'now')).toHaveLength(1);
    await until(async () => done.includes('later'));
    const jobs = await client.db(database.databaseName).collection('agendaJobs').find().toArray();
    expect(jobs.every((job) => job.name === 'note')).toBe(true);
  } finally {
    await agenda.stop();
  }
});

describe('mongoose', () => {
  const author = new mongoose.Schema({ name: { type: String, unique: true, required: true } });
  const book = new mongoose.Schema(
    {
      title: { type: String, index: true },
      author: { type: mongoose.Schema.Types.ObjectId, ref: 'Author' },
      tags: [String],
      price: mongoose.Schema.Types.Decimal128,
    },
    { timestamps: true, optimisticConcurrency: true },
  );
  const decimal = (text: string) => mongoose.Types.Decimal128.fromString(text);
  let connection: mongoose.Connection;

  beforeAll(async () => {
    connection = await mongoose
      .createConnection(database.uri, { dbName: database.databaseName })
      .asPromise();
  });

  afterAll(() => connection.close());

  test('stores, populates, versions and counts', async () => {
    const Author = connection.model('Author', author);
    const Book = connection.model('Book', book);
    await Promise.all([Author.init(), Book.init()]);
    const ann = await Author.create({ name: 'Ann' });
    await expect(Author.create({ name: 'Ann' })).rejects.toMatchObject({ code: 11000 });
    await Book.insertMany([
      { title: 'One', author: ann._id, tags: ['a', 'b'], price: decimal('9.90') },
      { title: 'Two', author: ann._id, tags: ['b'], price: decimal('12.50') },
    ]);
    const found = await Book.find({ tags: 'b', price: { $gt: decimal('10') } })
      .populate('author')
      .lean();
    expect(found).toMatchObject([{ title: 'Two', author: { name: 'Ann' } }]);
    const first = await Book.findOne({ title: 'One' }).orFail();
    const stale = await Book.findById(first._id).orFail();
    first.tags.push('c');
    await first.save();
    stale.title = 'Won';
    await expect(stale.save()).rejects.toThrow(mongoose.Error.VersionError);
    expect(await Book.countDocuments({ tags: { $size: 3 } })).toBe(1);
    expect(await Book.distinct('tags')).toEqual(['a', 'b', 'c']);
    expect(await Book.aggregate([{ $unwind: '$tags' }, { $sortByCount: '$tags' }])).toContainEqual({
      _id: 'b',
      count: 2,
    });
  });

  test('runs a transaction', async () => {
    const Author = connection.model<{ name: string }>('Author');
    await connection.transaction(async (session) => {
      await Author.create([{ name: 'Bob' }], { session });
    });
    await expect(
      connection.transaction(async (session) => {
        await Author.create([{ name: 'Cid' }], { session });
        throw new Error('changed my mind');
      }),
    ).rejects.toThrow('changed my mind');
    expect((await Author.find().sort({ name: 1 }).lean()).map((one) => one.name)).toEqual([
      'Ann',
      'Bob',
    ]);
  });
});

test('connect-mongo keeps, touches and drops sessions', async () => {
  const store = MongoStore.create({ client, dbName: database.databaseName, ttl: 60 });
  const call = <T>(use: (done: (error: unknown, value?: T | null) => void) => void) =>
    new Promise<T | null | undefined>((resolve, reject) => {
      use((error, value) => (error ? reject(error) : resolve(value)));
    });
  const id = randomBytes(8).toString('hex');
  const session = { cookie: { originalMaxAge: 60_000 }, user: 'ann' } as unknown as Parameters<
    typeof store.set
  >[1];
  await call((done) => store.set(id, session, done));
  expect(await call((done) => store.get(id, done))).toMatchObject({ user: 'ann' });
  await call((done) => store.touch(id, session, done));
  expect(await call<number>((done) => store.length(done))).toBe(1);
  const indexes = await client.db(database.databaseName).collection('sessions').indexes();
  expect(indexes).toContainEqual(expect.objectContaining({ expireAfterSeconds: 0 }));
  await call((done) => store.destroy(id, done));
  expect(await call((done) => store.get(id, done))).toBeNull();
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 90_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('the awaited state did not come');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
