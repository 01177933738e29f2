// The mishaps of real deployments, made on purpose: what a careful client does must still come out right.

import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AdversaryOptions, startServer } from '@flowline/devdb';
import { MongoClient, MongoServerError } from 'mongodb';
import { describe, expect, test } from 'vitest';

interface Counter {
  _id: string;
  n: number;
}

async function against<T>(
  adversary: Omit<AdversaryOptions, 'seed'>,
  use: (client: MongoClient) => Promise<T>,
): Promise<T> {
  const server = await startServer({ adversary: { seed: 7, ...adversary } });
  const client = await new MongoClient(server.uri, { minPoolSize: 10 }).connect();
  try {
    return await use(client);
  } finally {
    await client.close();
    await server.close();
  }
}

const counters = (client: MongoClient) => client.db('adversary').collection<Counter>('counters');

describe('an adversary', () => {
  test('loses answers, and a retried write is still made once', () =>
    against({ lostReplies: 0.1, droppedConnections: 0.05 }, async (client) => {
      let acknowledged = 0;
      await counters(client)
        .insertOne({ _id: 'a', n: 0 })
        .catch(() => {});
      for (let round = 0; round < 20; round++) {
        // The driver retries once; where both answers are lost the outcome is not known.
        const before = await read(client);
        const done = await counters(client)
          .updateOne({ _id: 'a' }, { $inc: { n: 1 } })
          .then(() => true)
          .catch(() => false);
        const after = await read(client);
        if (done) acknowledged += 1;
        expect(after - before).toBeLessThanOrEqual(1);
        if (done) expect(after - before).toBe(1);
      }
      expect(acknowledged).toBeGreaterThan(10);
    }));

  test('makes write conflicts, and a transaction that is tried again comes through', () =>
    against({ writeConflicts: 0.3, maxDelayMs: 1 }, async (client) => {
      await counters(client).insertMany([
        { _id: 'a', n: 100 },
        { _id: 'b', n: 0 },
      ]);
      const move = () =>
        client.withSession((session) =>
          session.withTransaction(async () => {
            await counters(client).updateOne({ _id: 'a' }, { $inc: { n: -1 } }, { session });
            await counters(client).updateOne({ _id: 'b' }, { $inc: { n: 1 } }, { session });
          }),
        );
      await Promise.all(Array.from({ length: 8 }, move));
      expect(await counters(client).find().sort({ _id: 1 }).toArray()).toEqual([
        { _id: 'a', n: 92 },
        { _id: 'b', n: 8 },
      ]);
    }));

  test('lets upserts race, so that some get a duplicate key and none is made twice', () =>
    against({ racingUpserts: true, maxDelayMs: 30 }, async (client) => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, () =>
          counters(client).updateOne({ _id: 'x' }, { $inc: { n: 1 } }, { upsert: true }),
        ),
      );
      const lost = outcomes.filter((outcome) => outcome.status === 'rejected');
      expect(lost.length).toBeGreaterThan(0);
      for (const { reason } of lost) {
        expect(reason).toBeInstanceOf(MongoServerError);
        expect(reason.code).toBe(11000);
      }
      expect(await counters(client).findOne({ _id: 'x' })).toEqual({
        _id: 'x',
        n: 10 - lost.length,
      });
    }));

  async function read(client: MongoClient): Promise<number> {
    for (;;) {
      const found = await counters(client)
        .findOne({ _id: 'a' })
        .catch(() => undefined);
      if (found) return found.n;
      if (found === null)
        await counters(client)
          .insertOne({ _id: 'a', n: 0 })
          .catch(() => {});
    }
  }
});

test('a server may listen at a unix socket', async () => {
  const socketPath = join(tmpdir(), `devdb-${randomBytes(6).toString('hex')}.sock`);
  const server = await startServer({ socketPath });
  const client = await new MongoClient(server.uri).connect();
  await counters(client).insertOne({ _id: 'a', n: 1 });
  expect(await counters(client).countDocuments()).toBe(1);
  await client.close();
  await server.close();
});
