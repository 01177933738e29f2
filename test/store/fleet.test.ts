import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectStore } from '../../packages/core/src/store/connect.js';
import { Graph } from './graphs.js';
import { Bench } from './scheduling.js';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});
afterAll(() => bench.close());

const runner = (id: string) => ({
  id,
  host: 'host',
  bootId: 'boot',
  pidNamespace: 'pid:[1]',
  pid: 42,
  processStart: '77',
  serveKeys: ['d/a/0', '$x'],
  concurrency: 3,
});

/** The lease has run out, as far as the database can tell. */
const expire = () =>
  bench.collections.leases.updateMany({}, { $set: { expiresAt: new Date(Date.now() - 60_000) } });

describe('leadership', () => {
  it('is won once, from nothing, by one of many', async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => bench.connect()));
    const answers = await Promise.all(
      stores.flatMap((store, index) =>
        ['x', 'y'].map((name) => store.acquireLeadership(`${name}${index}`, 10_000)),
      ),
    );
    const won = answers.filter((one) => one !== null);
    expect(won).toHaveLength(1);
    expect(won[0]).toMatchObject({ epoch: 1 });
    expect(await bench.store.getLeadership()).toEqual(won[0]);
    await bench.store.releaseLeadership(won[0]!.holder, 1);
    expect(await bench.store.getLeadership()).toBeNull();
  });

  it('is kept by holder and epoch, and taken only when the stored expiry has passed', async () => {
    const first = (await bench.store.acquireLeadership('one', 600_000))!;
    // A candidate with a shorter lease of its own honours what the holder stored.
    expect(await bench.store.acquireLeadership('two', 1)).toBeNull();
    expect(await bench.store.renewLeadership('two', first.epoch, 10_000)).toBeNull();
    expect(await bench.store.renewLeadership('one', first.epoch - 1, 10_000)).toBeNull();
    const renewed = await bench.store.renewLeadership('one', first.epoch, 900_000);
    expect(renewed!.expiresAt.getTime()).toBeGreaterThan(first.expiresAt.getTime());
    // The answer of a won election was lost: asking again says so.
    expect(await bench.store.acquireLeadership('one', 10_000)).toEqual(renewed);
    await expire();
    const second = (await bench.store.acquireLeadership('two', 10_000))!;
    expect(second.epoch).toBe(first.epoch + 1);
    expect(await bench.store.renewLeadership('one', first.epoch, 10_000)).toBeNull();
    await bench.store.releaseLeadership('one', first.epoch);
    expect((await bench.store.getLeadership())?.holder).toBe('two');
  });

  it('is not renewed once it has expired: another may have been told that it is free', async () => {
    await expire();
    const mine = (await bench.store.acquireLeadership('$holder', 10_000))!;
    expect(mine.holder).toBe('$holder');
    await expire();
    expect(await bench.store.renewLeadership('$holder', mine.epoch, 10_000)).toBeNull();
  });
});

describe('runners', () => {
  it('are registered, heard and removed; their instants are the database clock', async () => {
    const before = await bench.store.readServerTime();
    await bench.store.registerRunner(runner('r-1'));
    await bench.store.heartbeatRunner('r-1', 'draining', 5_000);
    const [record] = await bench.store.listRunners();
    const { startedAt, heartbeatAt, ...rest } = record!;
    expect(rest).toEqual({ ...runner('r-1'), state: 'draining', exit: null });
    expect(startedAt.getTime()).toBeGreaterThanOrEqual(before.getTime());
    expect(heartbeatAt.getTime()).toBeGreaterThanOrEqual(startedAt.getTime());
    // One that leaves tasks behind stays, and says how it ended.
    await bench.store.retireRunner('r-1', 'SIGTERM');
    expect(await bench.store.listRunners()).toMatchObject([{ state: 'stopped', exit: 'SIGTERM' }]);
    await bench.store.removeRunner('r-1');
    expect(await bench.store.listRunners()).toEqual([]);
  });

  it('come back when their record was removed while they lived', async () => {
    await bench.store.heartbeatRunner('revived', 'running', 5_000);
    const [record] = await bench.store.listRunners();
    expect(record).toMatchObject({ id: 'revived', state: 'running', serveKeys: [] });
  });
});

describe('prepare', () => {
  it('works from many processes at once, and again', async () => {
    const fresh = await Promise.all(Array.from({ length: 4 }, () => bench.connect()));
    await bench.db.dropDatabase();
    await Promise.all(fresh.map((store) => store.prepare()));
    await bench.store.prepare();
    const names = (await bench.collections.tasks.indexes()).map((index) => index.name);
    expect(names).toContain('claim');
  });
});

describe('connecting', () => {
  it('says what is wrong with a URI, without its password', async () => {
    const bad = connectStore({ uri: 'mongo://me:secret@host/x' });
    await expect(bad).rejects.toMatchObject({ code: 'config' });
    await expect(bad).rejects.not.toThrow(/secret/);
  });

  it('gives up on a server that does not answer within the time it was given', async () => {
    const nobody = connectStore({ uri: 'mongodb://127.0.0.1:9/x', serverSelectionTimeoutMs: 100 });
    await expect(nobody).rejects.toMatchObject({ code: 'store-unreachable', retryable: true });
  });
});

describe('watchReady', () => {
  it('hears that another process made a task ready, where there are change streams', async () => {
    const other = await bench.connect();
    const graph = await Graph.deploy(bench, { only: [] });
    let heard = () => {};
    const hint = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const watching = await other.watchReady(() => heard());
    const { setName } = await bench.db.command({ hello: 1 });
    expect(watching.supported).toBe(setName !== undefined);
    if (watching.supported) {
      await graph.start();
      await hint;
    }
    await watching.stop();
    await watching.stop();
  });

  it('ends with its collection: whoever restores a backup over it stops no process', async () => {
    const dropped = await Bench.open();
    const watching = await dropped.store.watchReady(() => {});
    await dropped.db.dropDatabase();
    // A stream that is read on and on lets nothing else have its turn.
    for (let turns = 0; turns < 20; turns += 1) await dropped.store.readServerTime();
    await watching.stop();
    await dropped.close();
  });
});
