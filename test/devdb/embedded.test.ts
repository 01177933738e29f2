import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import {
  connectEmbedded,
  DataDirectoryError,
  embeddedStatus,
  startServer,
  stopEmbedded,
} from '@flowline/devdb';
import { Long, MongoClient, type ResumeToken, UUID } from 'mongodb';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'devdb-embedded-'));
});

afterEach(async () => {
  await stopEmbedded(directory);
  rmSync(directory, { recursive: true, force: true });
});

describe('connectEmbedded', () => {
  test('makes one server when ten processes ask at once', { timeout: 120_000 }, async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => run('connect-and-insert.mjs', directory, '30000')),
    );
    const servers = new Set(answers.map((answer) => answer.pid));
    expect(servers.size).toBe(1);
    expect(await embeddedStatus(directory)).toMatchObject({
      state: 'running',
      pid: answers[0]!.pid,
    });
    const server = await connectEmbedded(directory);
    expect(server.uri).toBe(answers[0]!.uri);
    expect(
      await inClient(server.uri, (client) => client.db('x').collection('t').countDocuments()),
    ).toBe(10);
    await server.close();
  });

  test('ends the server when nobody has been connected for its idle time', async () => {
    await run('connect-and-insert.mjs', directory, '200');
    await until(async () => (await embeddedStatus(directory)).state === 'stopped');
    const server = await connectEmbedded(directory, { idleMs: 200 });
    expect(
      await inClient(server.uri, (client) => client.db('x').collection('t').countDocuments()),
    ).toBe(1);
    await server.close();
  });

  test('keeps the server while a handle is held, longer than its idle time', async () => {
    const server = await connectEmbedded(directory, { idleMs: 50 });
    const { pid } = server;
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(await embeddedStatus(directory)).toMatchObject({ state: 'running', pid });
    await server.close();
  });

  test('outlives the process that started it', async () => {
    const starter = spawnFixture('start-and-wait.mjs', directory);
    const { pid, uri } = JSON.parse(await firstLine(starter)) as { pid: number; uri: string };
    starter.kill('SIGKILL');
    await new Promise((resolve) => starter.on('exit', resolve));
    expect(await inClient(uri, (client) => client.db('admin').command({ ping: 1 }))).toMatchObject({
      ok: 1,
    });
    expect(await embeddedStatus(directory)).toMatchObject({ state: 'running', pid });
  });

  test('restarts a killed server at the same URI, and takes over its lock', async () => {
    const server = await connectEmbedded(directory);
    const { pid, uri } = server;
    await inClient(uri, (client) => client.db('x').collection('t').insertOne({ a: 1 }));
    process.kill(pid, 'SIGKILL');
    await until(async () => server.pid !== pid);
    expect(server.uri).toBe(uri);
    expect(await inClient(uri, (client) => client.db('x').collection('t').countDocuments())).toBe(
      1,
    );
    await server.close();
  });

  test('does not restart a server that was stopped on purpose', async () => {
    const server = await connectEmbedded(directory);
    expect(await stopEmbedded(directory)).toBe(true);
    expect(await embeddedStatus(directory)).toEqual({ state: 'stopped' });
    expect(await stopEmbedded(directory)).toBe(false);
    await server.close();
    expect(await embeddedStatus(directory)).toEqual({ state: 'stopped' });
  });
});

describe('a data directory', () => {
  test('of another program is refused with a sentence', async () => {
    mkdirSync(join(directory, 'data'));
    writeFileSync(join(directory, 'data', 'ibdata1'), 'something else');
    await expect(startServer({ directory })).rejects.toThrow(DataDirectoryError);
    await expect(startServer({ directory })).rejects.toThrow(
      /holds no data of a Flowline development server/,
    );
    await expect(connectEmbedded(directory)).rejects.toThrow(
      /holds no data of a Flowline development server/,
    );
  });

  test.each([
    [
      'no database at all',
      (file: string) => writeFileSync(file, 'this is not a database '.repeat(1000)),
    ],
    ['cut off', (file: string) => truncateSync(file, 5000)],
    ['empty', (file: string) => truncateSync(file, 0)],
    ['overwritten at its start', (file: string) => overwriteStart(file)],
  ])('that is damaged (%s) is refused with a sentence', async (_, damage) => {
    const server = await startServer({ directory });
    await inClient(server.uri, (client) =>
      client
        .db('x')
        .collection('t')
        .insertMany(Array.from({ length: 500 }, (_, a) => ({ a, text: 'x'.repeat(100) }))),
    );
    await server.close();
    damage(join(directory, 'data', 'data.mdb'));
    await expect(connectEmbedded(directory)).rejects.toThrow(DataDirectoryError);
    await expect(connectEmbedded(directory)).rejects.toThrow(/damaged/);
  });

  test('has one server at a time', async () => {
    const server = await startServer({ directory });
    await expect(startServer({ directory })).rejects.toThrow(
      /in use by another development server/,
    );
    await server.close();
    const embedded = await connectEmbedded(directory);
    await expect(startServer({ directory })).rejects.toThrow(
      /in use by another development server/,
    );
    await embedded.close();
  });

  test('keeps collections, indexes, retried writes and resume tokens over a restart', async () => {
    const lsid = { id: new UUID() };
    const insert = { insert: 't', documents: [{ _id: 5, a: 1 }], lsid, txnNumber: Long.ONE };
    let token: ResumeToken;
    const first = await startServer({ directory });
    await inClient(first.uri, async (client) => {
      const t = client.db('x').collection<{ _id: number; a: number }>('t');
      await t.createIndex({ a: 1 }, { unique: true, expireAfterSeconds: 3600 });
      const stream = t.watch([], { maxAwaitTimeMS: 50 });
      // The stream has to be open before the insert.
      expect(await stream.tryNext()).toBeNull();
      const next = stream.next();
      await t.insertOne({ _id: 1, a: 0 });
      token = (await next)._id;
      await stream.close();
      await sendInSession(client, insert);
    });
    await first.close();
    const second = await startServer({ directory });
    await inClient(second.uri, async (client) => {
      const t = client.db('x').collection<{ _id: number; a: number }>('t');
      expect(await t.indexes()).toMatchObject([
        { name: '_id_' },
        { name: 'a_1', unique: true, expireAfterSeconds: 3600 },
      ]);
      // The same write again: answered, not done.
      expect(await sendInSession(client, insert)).toMatchObject({ ok: 1, n: 1 });
      expect(await t.countDocuments()).toBe(2);
      const stream = t.watch([], { resumeAfter: token });
      expect(await stream.next()).toMatchObject({
        operationType: 'insert',
        documentKey: { _id: 5 },
      });
      await stream.close();
    });
    await second.close();
  });
});

/** Sends a command with a session of our own in the place of the driver's. */
async function sendInSession(client: MongoClient, command: { lsid: { id: UUID } }) {
  const session = client.startSession();
  const own = session as unknown as { _serverSession: { id: unknown } };
  const pooled = own._serverSession;
  own._serverSession = { ...pooled, id: command.lsid };
  try {
    return await client.db('x').command(command, { session });
  } finally {
    own._serverSession = pooled;
    await session.endSession();
  }
}

function overwriteStart(file: string): void {
  const bytes = readFileSync(file);
  bytes.fill(0xab, 0, 8192);
  writeFileSync(file, bytes);
}

async function inClient<T>(uri: string, use: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = await new MongoClient(uri).connect();
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

function spawnFixture(name: string, ...args: string[]): ChildProcess {
  const path = fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
  return spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function run(name: string, ...args: string[]): Promise<{ pid: number; uri: string }> {
  return JSON.parse(await text(spawnFixture(name, ...args).stdout!));
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => child.stdout!.once('data', (chunk) => resolve(String(chunk))));
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 90_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('the awaited state did not come');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
