import { mkdir, mkdtemp, realpath, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type SourceWatch, watchSources } from '../../packages/cli/src/loading/watch-sources.js';

/** Longer than a file stays empty while it is written, on a machine with more to do. */
const quietMs = 100;

let root: string;
let watching: SourceWatch | undefined;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'flow-watch-')));
  await write('jobs/a.job.ts', 'export const a = 1;\n');
  await write('jobs/a.test.ts', 'export {};\n');
  await write('node_modules/x/index.js', 'export {};\n');
});

afterEach(async () => {
  watching?.close();
  await rm(root, { recursive: true });
});

async function write(path: string, text: string): Promise<string> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

async function start(...loaded: string[]): Promise<SourceWatch> {
  watching = watchSources(root, { quietMs });
  watching.add(loaded.map((path) => join(root, path)));
  return watching;
}

test('tells a changed source by its path', async () => {
  const { changed } = await start();
  const file = await write('jobs/a.job.ts', 'export const a = 2;\n');
  expect(await changed).toBe(file);
});

test('tells a new source, also in a folder that did not exist', async () => {
  const { changed } = await start();
  const file = await write('more/deep/b.job.ts', 'export const b = 1;\n');
  expect(await changed).toBe(file);
});

test('tells a file that an editor replaces by renaming, and one that is deleted', async () => {
  const file = join(root, 'jobs/a.job.ts');
  const { changed } = await start();
  const temporary = await write('jobs/.a.job.ts.swp', 'export const a = 3;\n');
  await rename(temporary, file);
  expect(await changed).toBe(file);
  watching?.close();
  const again = await start('jobs/a.job.ts');
  await rm(file);
  expect(await again.changed).toBe(file);
});

test('does not tell tests, installed packages, data, what came and went, or the same bytes written again', async () => {
  const { changed } = await start('jobs/a.job.ts');
  await write('jobs/a.test.ts', 'export const changed = true;\n');
  await write('node_modules/x/index.js', 'export const changed = true;\n');
  await write('jobs/report.csv', '1,2\n');
  await rm(await write('jobs/temporary.ts', 'export {};\n'));
  await write('jobs/a.job.ts', 'export const a = 1;\n');
  const file = await write('tsconfig.json', '{}');
  // The first change that counts is the one told, so none of those before it did.
  expect(await changed).toBe(file);
});

test('tells a data file that was loaded, and a file outside of the folder', async () => {
  const outside = await realpath(await mkdtemp(join(tmpdir(), 'flow-watch-')));
  try {
    await writeFile(join(outside, 'limits.json'), '1');
    watching = watchSources(root, { quietMs });
    watching.add([join(outside, 'limits.json')]);
    await writeFile(join(outside, 'limits.json'), '2');
    expect(await watching.changed).toBe(join(outside, 'limits.json'));
  } finally {
    await rm(outside, { recursive: true });
  }
});

test('tells a file that was written after the start and before it was known to be loaded', async () => {
  watching = watchSources(join(root, 'node_modules'), { quietMs });
  const file = await write('jobs/a.job.ts', 'export const a = 4;\n');
  // File systems keep coarser time than the process does.
  const later = Date.now() / 1000 + 1;
  await utimes(file, later, later);
  watching.add([file]);
  expect(await watching.changed).toBe(file);
});
