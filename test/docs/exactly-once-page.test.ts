/** The examples of docs/exactly-once.md run as the page says. */
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MongoClient } from 'mongodb';
import ts from 'typescript';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSystem, type System } from '../support/system.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(`${root}docs/exactly-once.md`, 'utf8');
const [commitExample, onceExample] = [...page.matchAll(/```ts\n(.*?)\n```/gs)].map(
  ([, code]) => code as string,
);

let system: System;
let client: MongoClient;
const folder = mkdtempSync(join(tmpdir(), 'flowline-exactly-once-'));
beforeAll(async () => {
  system = await openSystem();
  client = await MongoClient.connect(system.connection.uri);
  symlinkSync(`${root}node_modules`, join(folder, 'node_modules'));
});
afterAll(async () => {
  await client.close();
  await system.close();
  rmSync(folder, { recursive: true });
});

/** The classes of an example. */
async function load(name: string, code: string): Promise<object[]> {
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      experimentalDecorators: true,
    },
  });
  const file = join(folder, name);
  writeFileSync(file, outputText);
  return Object.values(await import(pathToFileURL(file).href));
}

test('the order is booked once, with the result of the task', async () => {
  // The page names a database of the reader's; here it is one of this test's own.
  const shop = `${system.connection.database}_shop`;
  const database = client.db(shop);
  await database.createCollection('ledger');
  await database.collection('totals').insertOne({ day: 'today', cents: 1 });
  try {
    const classes = await load(
      'book-order.mjs',
      (commitExample as string).replace("client.db('shop')", `client.db('${shop}')`),
    );
    await system.deploy(classes);
    await system.startRunner(classes);
    const runId = await system.trigger('book-order', { order: 'A1', cents: 250 });
    expect((await system.closed(runId)).state).toBe('succeeded');
    expect((await system.store.readInputs(runId, ['book-order'])).results).toEqual([
      { booked: 'A1' },
    ]);
    expect(await database.collection('ledger').find().toArray()).toMatchObject([{ order: 'A1' }]);
    expect(await database.collection('totals').findOne()).toMatchObject({ cents: 251 });
  } finally {
    await database.dropDatabase();
  }
});

test('the order is charged once although the first mail fails', async () => {
  writeFileSync(
    join(folder, 'services.js'),
    `export const calls = [];
     export const payments = { charge: async (order, key) => { calls.push(['charge', order, key]); return { receipt: order }; } };
     export const mail = { send: async (order) => { calls.push(['mail', order]); if (calls.length === 2) throw new Error('no post'); } };`,
  );
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const classes = await load(
    'charge-order.mjs',
    (onceExample as string).replace(
      'attempts: 5',
      "attempts: 5, backoff: { type: 'fixed', delay: '5ms' }",
    ),
  );
  await system.deploy(classes);
  await system.startRunner(classes);
  const runId = await system.trigger('charge-order', { order: 'A1' });
  const run = await system.closed(runId);
  expect(run.tasks[0]?.attempts.map(({ outcome }) => outcome)).toEqual(['failed', 'succeeded']);
  const { calls } = await import(pathToFileURL(join(folder, 'services.js')).href);
  expect(calls).toEqual([
    ['charge', 'A1', `${runId}/charge-order`],
    ['mail', 'A1'],
    ['mail', 'A1'],
  ]);
});
