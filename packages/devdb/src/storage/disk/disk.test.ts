import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Disk, type DiskOptions, type DiskStep } from './disk.js';
import type { DiskChange } from './disk-change.js';
import { Tables } from './tables.js';

let root: string;
let open: Disk[];
let copies: number;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'devdb-disk-'));
  open = [];
  copies = 0;
});

afterEach(async () => {
  for (const disk of open) await disk.close();
  rmSync(root, { recursive: true, force: true });
});

/** Nothing is moved but on demand. */
const NEVER = { checkpointBytes: Number.MAX_SAFE_INTEGER, idleMs: 2 ** 30 };
/** After each group. */
const ALWAYS = { checkpointBytes: 1, idleMs: 2 ** 30 };

async function openDisk(directory: string, options: DiskOptions = NEVER): Promise<Disk> {
  const tables = new Tables(directory);
  const disk = await Disk.open(tables, options).catch(async (error) => {
    await tables.close();
    throw error;
  });
  open.push(disk);
  return disk;
}

async function close(disk: Disk): Promise<void> {
  open.splice(open.indexOf(disk), 1);
  await disk.close();
}

/** The directory as a kill at this moment would leave it. */
function copyOf(directory: string): string {
  const copy = join(root, `copy${copies++}`);
  cpSync(directory, copy, {
    recursive: true,
    filter: (path) => basename(path) !== 'lock.mdb',
  });
  return copy;
}

/** What a new start finds. */
async function contents(directory: string): Promise<Record<string, string>> {
  const disk = await openDisk(directory);
  const found = tablesOf(disk);
  await close(disk);
  return found;
}

function tablesOf(disk: Disk): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { key, value } of disk.tables.entries('records')) found[String(key)] = String(value);
  for (const { key, value } of disk.tables.entries('retries')) found[String(key)] = String(value);
  return found;
}

const put = (record: number, text: string): DiskChange => ({
  table: 'records',
  key: [1, record],
  value: Buffer.from(text),
});
const remove = (record: number): DiskChange => ({
  table: 'records',
  key: [1, record],
  value: null,
});
const retry = (session: string, text: string): DiskChange => ({
  table: 'retries',
  key: session,
  value: Buffer.from(text),
});

const STEPS: DiskStep[] = [
  'switched',
  'moved the changes',
  'named the checkpoint',
  'deleted old segments',
];

const segments = (directory: string) =>
  readdirSync(directory)
    .filter((name) => name.startsWith('log-'))
    .map((name) => Number(name.slice(4)));

describe('what was acknowledged', () => {
  test('is there after a kill, the newest of each key', async () => {
    const directory = join(root, 'a');
    const disk = await openDisk(directory);
    await disk.commit([put(1, 'one'), put(2, 'two'), retry('s', 'first')]);
    await disk.commit([put(1, 'uno'), remove(2), put(3, 'three'), retry('s', 'second')]);
    const expected = { '1,1': 'uno', '1,3': 'three', s: 'second' };
    expect(await contents(copyOf(directory))).toEqual(expected);
    // Nothing of it was in the tables yet.
    expect(tablesOf(disk)).toEqual({});
    await close(disk);
    expect(await contents(directory)).toEqual(expected);
  });

  test('is moved into the tables when the segment is long enough, while commits go on', async () => {
    const steps: DiskStep[] = [];
    const directory = join(root, 'a');
    let goOn = () => {};
    const disk = await openDisk(directory, {
      ...NEVER,
      checkpointBytes: 2000,
      onStep: (step) => {
        steps.push(step);
        if (step !== 'moved the changes') return;
        return new Promise<void>((resolve) => {
          goOn = resolve;
        });
      },
    });
    await disk.commit([put(1, 'x'.repeat(1000))]);
    await disk.commit([put(2, 'x'.repeat(1000))]);
    await until(() => steps.includes('moved the changes'));
    await disk.commit([put(3, 'x'.repeat(3000))]);
    await disk.commit([put(4, 'after')]);
    expect(segments(directory)).toEqual([1, 3]);
    expect(Object.keys(tablesOf(disk))).toEqual(['1,1', '1,2']);
    expect(Object.keys(await contents(copyOf(directory)))).toEqual(['1,1', '1,2', '1,3', '1,4']);
    goOn();
    await until(() => steps.filter((step) => step === 'moved the changes').length === 2);
    goOn();
    await until(() => segments(directory).join() === '5');
    expect(Object.keys(tablesOf(disk))).toHaveLength(4);
  });

  test('is moved when nothing comes for a while, and once only', async () => {
    const directory = join(root, 'a');
    const steps: DiskStep[] = [];
    const disk = await openDisk(directory, { idleMs: 1, onStep: (step) => void steps.push(step) });
    const moved = () => steps.filter((step) => step === 'deleted old segments').length;
    await disk.commit([put(1, 'one')]);
    await until(() => moved() === 1);
    await disk.commit([put(2, 'two')]);
    await until(() => moved() === 2);
    await close(disk);
    expect(steps).toEqual(['began a log', ...STEPS, ...STEPS]);
    expect(segments(directory)).toEqual([3]);
  });

  test('waits for a checkpoint when the log is too long', async () => {
    const directory = join(root, 'a');
    const { step, reached, goOn } = stopAt('moved the changes');
    const disk = await openDisk(directory, {
      ...NEVER,
      checkpointBytes: 2000,
      maxLogBytes: 5000,
      onStep: step,
    });
    await disk.commit([put(1, 'x'.repeat(3000))]);
    await disk.commit([put(2, 'x'.repeat(3000))]);
    await reached;
    let isDone = false;
    const waits = disk.commit([put(3, 'three')]).then(() => {
      isDone = true;
    });
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(isDone).toBe(false);
    goOn();
    await waits;
    await close(disk);
    expect(Object.keys(await contents(directory))).toEqual(['1,1', '1,2', '1,3']);
  });
});

describe('a kill', () => {
  /** What every start must find; of the switch there are no commits yet that went on. */
  const expectedAfter = (step: DiskStep) => ({
    '1,1': 'uno',
    '1,3': 'three',
    ...(step === 'switched' ? {} : { '1,4': 'four' }),
  });

  /** A directory in which a checkpoint died after a step, and commits had gone on before that. */
  async function diedAfter(step: DiskStep): Promise<string> {
    const directory = join(root, 'a');
    const stop = stopAt(step);
    const disk = await openDisk(directory, NEVER);
    await disk.commit([put(1, 'one'), put(2, 'two')]);
    await disk.commit([put(1, 'uno'), put(3, 'three')]);
    await close(disk);
    const second = await openDisk(directory, { ...ALWAYS, onStep: stop.step });
    await second.commit([remove(2)]);
    await stop.reached;
    if (step !== 'switched') await second.commit([put(4, 'four')]);
    const copy = copyOf(directory);
    stop.goOn();
    return copy;
  }

  test.each(STEPS)('after a checkpoint has %s loses nothing', async (step) => {
    const directory = await diedAfter(step);
    expect(await contents(directory)).toEqual(expectedAfter(step));
    expect(segments(directory)).toHaveLength(1);
  });

  test.each(
    STEPS.flatMap((first) =>
      ['cut the log' as const, ...STEPS]
        // The new segment is there already and has no frames: the next start takes it.
        .filter((second) => first !== 'switched' || second !== 'switched')
        .map((second) => [first, second] as const),
    ),
  )('after it has %s, and again after the next start has %s', async (first, second) => {
    const expected = expectedAfter(first);
    const directory = await diedAfter(first);
    let copy: string | undefined;
    const disk = await openDisk(directory, {
      ...NEVER,
      onStep: (step) => {
        if (step === second) copy ??= copyOf(directory);
      },
    });
    expect(tablesOf(disk)).toEqual(expected);
    await disk.commit([put(5, 'five')]);
    expect(await contents(copyOf(directory))).toEqual({ ...expected, '1,5': 'five' });
    expect(await contents(copy!)).toEqual(expected);
    expect(segments(copy!)).toHaveLength(1);
  });

  test('while some of the changes are in the tables loses nothing', async () => {
    const directory = await diedAfter('switched');
    const expected = expectedAfter('switched');
    const tables = new Tables(directory);
    await tables.write([remove(2), put(3, 'three')]);
    await tables.close();
    expect(await contents(directory)).toEqual(expected);
  });

  test('while a frame is written takes that one only, and the log goes on after it', async () => {
    const directory = await diedAfter('moved the changes');
    const expected = expectedAfter('moved the changes');
    const newest = segments(directory).at(-1)!;
    appendFileSync(join(directory, `log-${String(newest).padStart(16, '0')}`), 'half a frame');
    for (const step of ['cut the log', ...STEPS] as const) {
      let copy: string | undefined;
      const again = copyOf(directory);
      const disk = await openDisk(again, {
        ...NEVER,
        onStep: (name) => {
          if (name === step) copy ??= copyOf(again);
        },
      });
      await disk.commit([put(5, 'five')]);
      expect(await contents(copyOf(again))).toEqual({ ...expected, '1,5': 'five' });
      expect(await contents(copy!)).toEqual(expected);
    }
  });

  test('while a segment is made leaves nothing behind', async () => {
    const directory = await diedAfter('moved the changes');
    const unfinished = join(directory, 'log-0000000000000005.new');
    writeFileSync(unfinished, 'FLOW');
    expect(await contents(directory)).toEqual(expectedAfter('moved the changes'));
    expect(existsSync(unfinished)).toBe(false);
  });

  test('of the very first start leaves a directory that opens', async () => {
    const directory = join(root, 'a');
    let copy = '';
    await openDisk(directory, {
      onStep: (step) => {
        if (step === 'began a log') copy = copyOf(directory);
      },
    });
    const disk = await openDisk(copy);
    await disk.commit([put(1, 'one')]);
    await close(disk);
    expect(await contents(copy)).toEqual({ '1,1': 'one' });
  });
});

describe('a disk', () => {
  test('refuses a log that its tables do not know', async () => {
    const directory = join(root, 'a');
    const disk = await openDisk(directory);
    await disk.commit([put(1, 'one')]);
    const other = await openDisk(join(root, 'b'));
    await close(other);
    rmSync(join(root, 'b', 'log-0000000000000001'));
    cpSync(join(directory, 'log-0000000000000001'), join(root, 'b', 'log-0000000000000001'));
    await expect(openDisk(join(root, 'b'))).rejects.toThrow(/of the log of another directory/);
    const tables = new Tables(join(root, 'c'));
    await tables.close();
    cpSync(join(directory, 'log-0000000000000001'), join(root, 'c', 'log-0000000000000001'));
    await expect(openDisk(join(root, 'c'))).rejects.toThrow(
      /a log of which the tables do not know/,
    );
  });

  test('acknowledges nothing more after a checkpoint has failed, and has lost nothing', async () => {
    const directory = join(root, 'a');
    const { step, reached } = stopAt('deleted old segments', true);
    const disk = await openDisk(directory, { ...ALWAYS, onStep: step });
    // The name that the next segment would have is taken.
    writeFileSync(join(directory, 'log-0000000000000003'), '');
    await disk.commit([put(1, 'one')]);
    await reached;
    await new Promise((resolve) => setImmediate(resolve));
    await disk.commit([put(2, 'two')]);
    await expect(disk.commit([put(3, 'three')])).rejects.toThrow(/exists already/);
    await expect(disk.commit([put(4, 'four')])).rejects.toThrow(/exists already/);
    await expect(disk.flushed()).rejects.toThrow(/exists already/);
    await close(disk);
    rmSync(join(directory, 'log-0000000000000003'));
    expect(await contents(directory)).toEqual({ '1,1': 'one', '1,2': 'two' });
  });

  test('takes nothing after it was closed, and keeps what waited', async () => {
    const directory = join(root, 'a');
    const disk = await openDisk(directory);
    const waiting = disk.commit([put(1, 'one')]);
    const closed = close(disk);
    await expect(disk.commit([put(2, 'two')])).rejects.toThrow('the disk is closed');
    await Promise.all([waiting, closed]);
    expect(await contents(directory)).toEqual({ '1,1': 'one' });
  });
});

/** Holds a disk after a step, or only tells of it. */
function stopAt(wanted: DiskStep, isOpen = false) {
  let reach = () => {};
  let goOn = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
    if (isOpen) resolve();
  });
  const step = (name: DiskStep) => {
    if (name !== wanted) return;
    reach();
    return gate;
  };
  return { step, reached, goOn };
}

/** Waits for a condition; fails after 10 seconds. */
async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('the awaited state did not come');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
