import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SYNCED_FLAGS, SyncedWriter } from './synced-writer.js';

let directory: string;
let path: string;
let file: number;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'devdb-writer-'));
  path = join(directory, 'file');
  writeFileSync(path, '');
  file = openSync(path, SYNCED_FLAGS);
});

afterEach(() => {
  closeSync(file);
  rmSync(directory, { recursive: true, force: true });
});

/** A clock whose readings are this far from each other. */
function clockOf(step: () => number): () => number {
  let at = 0;
  return () => {
    at += step();
    return at;
  };
}

/** Whether the bytes were there before anything was waited for. */
async function append(writer: SyncedWriter, text: string): Promise<boolean> {
  const before = readFileSync(path);
  const written = writer.write(file, Buffer.from(text), before.length);
  const isInPlace = readFileSync(path).length > before.length;
  await written;
  expect(readFileSync(path).toString()).toBe(before.toString() + text);
  return isInPlace;
}

test.runIf(process.platform === 'linux')(
  'a small write is made in place, a large one by a thread',
  async () => {
    const writer = new SyncedWriter(clockOf(() => 0));
    expect(await append(writer, 'small')).toBe(true);
    await append(writer, 'x'.repeat(300_000));
    expect(await append(writer, 'small again')).toBe(true);
  },
);

test.runIf(process.platform === 'linux')(
  'after a slow write thirty go to a thread, then the disk is tried again',
  async () => {
    let milliseconds = 5;
    const writer = new SyncedWriter(clockOf(() => milliseconds));
    expect(await append(writer, 'slow')).toBe(true);
    for (let count = 0; count < 30; count++) {
      expect(writer.isInPlace).toBe(false);
      await append(writer, `${count}`);
    }
    milliseconds = 1;
    expect(await append(writer, 'tried')).toBe(true);
    expect(await append(writer, 'quick')).toBe(true);
  },
);

test.each([0, 100])('a write that the system refuses rejects (clock step %d ms)', async (step) => {
  const writer = new SyncedWriter(clockOf(() => step));
  await append(writer, 'first');
  const unwritable = openSync(path, 'r');
  try {
    await expect(writer.write(unwritable, Buffer.from('x'), 5)).rejects.toThrow(/EBADF/);
  } finally {
    closeSync(unwritable);
  }
});
