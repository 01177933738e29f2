import { connect, type Socket } from 'node:net';
import { type RunningServer, startServer } from '@flowline/devdb';
import { BSON, MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: RunningServer;
let client: MongoClient;

beforeAll(async () => {
  server = await startServer();
  client = await new MongoClient(server.uri).connect();
});

afterAll(async () => {
  await client.close();
  await server.close();
});

/** A message with a header that may lie about its length. */
function message(body: Uint8Array, options: { length?: number; opCode?: number } = {}): Buffer {
  const header = Buffer.alloc(16);
  header.writeInt32LE(options.length ?? 16 + body.length, 0);
  header.writeInt32LE(7, 4);
  header.writeInt32LE(options.opCode ?? 2013, 12);
  return Buffer.concat([header, body]);
}

/** An OP_MSG with one body section. */
function command(document: BSON.Document): Buffer {
  return message(Buffer.concat([Buffer.from([0, 0, 0, 0, 0]), BSON.serialize(document)]));
}

const PING = { ping: 1, $db: 'admin' };

function open(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(server.port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
  });
}

/** Sends bytes and resolves when the server answers or closes, whichever comes first. */
async function outcome(bytes: Uint8Array): Promise<'answered' | 'closed'> {
  const socket = await open();
  socket.removeAllListeners('error');
  try {
    return await new Promise((resolve) => {
      socket.on('error', () => resolve('closed'));
      socket.on('close', () => resolve('closed'));
      socket.once('data', () => resolve('answered'));
      socket.write(bytes);
    });
  } finally {
    socket.destroy();
  }
}

async function serverIsWell(): Promise<void> {
  const notes = client.db('hostile').collection('notes');
  const { insertedId } = await notes.insertOne({ at: new Date() });
  expect(await notes.findOne({ _id: insertedId })).not.toBeNull();
}

describe('a hostile or broken client', () => {
  test.each<[string, Buffer]>([
    ['a negative length', message(Buffer.alloc(8), { length: -5 })],
    ['a length below the header', message(Buffer.alloc(8), { length: 15 })],
    ['a length above the limit', message(Buffer.alloc(8), { length: 48_000_001 })],
    ['an unknown operation', message(Buffer.alloc(32), { opCode: 2004 + 1 })],
    ['an OP_MSG without sections', message(Buffer.alloc(4))],
    ['a section of an unknown kind', message(Buffer.from([0, 0, 0, 0, 9, 5, 0, 0, 0, 0]))],
    ['a section longer than its message', message(Buffer.from([0, 0, 0, 0, 0, 255, 255, 0, 0, 0]))],
    [
      'unknown required flags',
      message(Buffer.concat([Buffer.from([128, 0, 0, 0, 0]), BSON.serialize(PING)])),
    ],
    ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')],
  ])('is cut off for %s, and nobody else is', async (_, bytes) => {
    expect(await outcome(bytes)).toBe('closed');
    await serverIsWell();
  });

  test('gets an error for a document that is none', async () => {
    const broken = command({ insert: 'c', documents: [{ a: 'text' }], $db: 'x' });
    // The length of the text inside says more than there is.
    broken.writeInt32LE(1000, broken.indexOf('text') - 4);
    expect(await outcome(broken)).toBe('answered');
    await serverIsWell();
  });

  test('gets an error for nesting without end', async () => {
    let nested: BSON.Document = {};
    for (let depth = 0; depth < 500; depth++) nested = { n: nested };
    expect(await outcome(command({ insert: 'c', documents: [nested], $db: 'x' }))).toBe('answered');
    await serverIsWell();
  });

  test('may leave in the middle of a message, or say nothing at all', async () => {
    const sockets: Socket[] = [];
    for (let index = 0; index < 50; index++) {
      const socket = await open();
      socket.on('error', () => {});
      if (index % 2 === 0) socket.write(command(PING).subarray(0, 1 + (index % 20)));
      sockets.push(socket);
    }
    await serverIsWell();
    for (const socket of sockets) socket.destroy();
    await serverIsWell();
  });

  test('may send a message byte by byte', async () => {
    const socket = await open();
    const answered = new Promise((resolve) => socket.once('data', resolve));
    for (const byte of command(PING)) {
      socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await answered;
    socket.destroy();
  });

  test('may send many commands without waiting for answers', async () => {
    const socket = await open();
    const one = command(PING);
    let bytes = 0;
    const all = new Promise<void>((resolve) => {
      socket.on('data', (chunk) => {
        bytes += chunk.length;
        if (bytes >= 2000 * 40) resolve();
      });
    });
    socket.write(Buffer.concat(Array.from({ length: 2000 }, () => one)));
    await all;
    socket.destroy();
    await serverIsWell();
  });

  test('is answered or cut off for any change to a good message', async () => {
    const random = randomFrom(20_260_730);
    const good = [
      command(PING),
      command({ insert: 'c', documents: [{ _id: 1, a: [1, 'x', { b: new Date(0) }] }], $db: 'x' }),
      command({
        find: 'c',
        filter: { a: { $in: [1, 2] }, $or: [{ b: 1 }] },
        sort: { a: 1 },
        $db: 'x',
      }),
      command({
        update: 'c',
        updates: [{ q: {}, u: { $set: { 'a.b': 1 } }, multi: true }],
        $db: 'x',
      }),
      command({ aggregate: 'c', pipeline: [{ $group: { _id: '$a' } }], cursor: {}, $db: 'x' }),
    ];
    for (let round = 0; round < 400; round++) {
      const bytes = Buffer.from(good[round % good.length]!);
      const changes = 1 + Math.floor(random() * 6);
      for (let change = 0; change < changes; change++) {
        // The length of the whole stays: a longer one would only wait for more.
        bytes[4 + Math.floor(random() * (bytes.length - 4))] = Math.floor(random() * 256);
      }
      // A change may have said that no answer is wanted: the ping behind it is answered in any case.
      await outcome(Buffer.concat([bytes, command(PING)]));
    }
    await serverIsWell();
  }, 120_000);
});

/** Numbers from 0 to 1 that are the same in each run (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
