import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Disk } from './disk.js';
import { frameAt } from './frame.js';
import { findSegments, SEGMENT_HEADER_BYTES, seedOf } from './segment.js';
import { Tables } from './tables.js';

/** What one command does: sets or removes some of a few records. */
type Batch = readonly (readonly [record: number, value: number | null])[];
type State = Readonly<Record<string, number>>;

const batch: fc.Arbitrary<Batch> = fc.array(
  fc.tuple(fc.nat(5), fc.option<number, null>(fc.nat(99), { nil: null })),
  {
    minLength: 1,
    maxLength: 4,
  },
);

/** The end of the log at some instant, and how many batches were acknowledged by then. */
interface Mark {
  readonly first: number;
  readonly bytes: number;
  readonly acknowledged: number;
}

/** What a kill left behind. */
interface Killed {
  readonly directory: string;
  readonly acknowledged: number;
  readonly given: number;
  readonly marks: readonly Mark[];
}

/** The contents after each number of batches. */
function statesOf(batches: readonly Batch[]): State[] {
  const states: State[] = [{}];
  for (const changes of batches) {
    const next: Record<string, number> = { ...states.at(-1) };
    for (const [record, value] of changes) {
      if (value === null) delete next[record];
      else next[record] = value;
    }
    states.push(next);
  }
  return states;
}

/** Where the frames of a segment end. */
function endOf(segment: Buffer): number {
  let end = SEGMENT_HEADER_BYTES;
  for (;;) {
    const frame = frameAt(segment, end, seedOf(segment));
    if (frame === null) return end;
    end = frame.end;
  }
}

/** Commits the batches, waiting after some of them; the kill comes at the so-manieth step or acknowledgement. */
async function runUntilKilled(
  root: string,
  batches: readonly { readonly changes: Batch; readonly isAwaited: boolean }[],
  checkpointBytes: number,
  killAt: number,
): Promise<Killed> {
  const directory = join(root, 'living');
  const copy = join(root, 'killed');
  const marks: Mark[] = [];
  let killed: Killed | null = null;
  let acknowledged = 0;
  let given = 0;
  let events = 0;
  const kill = () => {
    cpSync(directory, copy, { recursive: true, filter: (path) => basename(path) !== 'lock.mdb' });
    killed = { directory: copy, acknowledged, given, marks: [...marks] };
  };
  const event = () => {
    if (events++ === killAt) kill();
  };
  const tables = new Tables(directory);
  const disk = await Disk.open(tables, { checkpointBytes, idleMs: 2 ** 30, onStep: event });
  const all: Promise<void>[] = [];
  for (const { changes, isAwaited } of batches) {
    given += 1;
    const committed = disk.commit(
      changes.map(([record, value]) => ({
        table: 'records',
        key: [1, record],
        value: value === null ? null : Buffer.from(String(value)),
      })),
    );
    all.push(
      committed.then(() => {
        acknowledged += 1;
        event();
      }),
    );
    if (!isAwaited) continue;
    await Promise.all(all);
    const newest = findSegments(directory).at(-1)!;
    marks.push({ first: newest.first, bytes: endOf(readFileSync(newest.path)), acknowledged });
  }
  await Promise.all(all);
  if (killed === null) kill();
  await disk.close();
  return killed!;
}

async function read(directory: string): Promise<State> {
  const tables = new Tables(directory);
  const disk = await Disk.open(tables);
  const found: Record<string, number> = {};
  for (const { key, value } of tables.entries('records')) {
    found[(key as number[])[1]!] = Number(value.toString());
  }
  await disk.close();
  return found;
}

const same = (left: State, right: State) =>
  JSON.stringify(Object.entries(left).sort()) === JSON.stringify(Object.entries(right).sort());

const history = fc.record({
  batches: fc.array(fc.record({ changes: batch, isAwaited: fc.boolean() }), {
    minLength: 1,
    maxLength: 12,
  }),
  checkpointBytes: fc.integer({ min: 1, max: 1200 }),
  killAt: fc.nat(25),
  /** How much of the newest segment is lost, as a part of all it could lose. */
  lost: fc.double({ min: 0, max: 1, noNaN: true }),
  /** Whether zeros are in its place, or the file is shorter. */
  leavesZeros: fc.boolean(),
});

test('a kill at any instant leaves a prefix of the commits, with all that were acknowledged', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(history, async ({ batches, checkpointBytes, killAt, lost, leavesZeros }) => {
      const root = mkdtempSync(join(tmpdir(), 'devdb-history-'));
      try {
        const states = statesOf(batches.map(({ changes }) => changes));
        const killed = await runUntilKilled(root, batches, checkpointBytes, killAt);
        const cut = join(root, 'cut');
        cpSync(killed.directory, cut, { recursive: true });

        const isPrefix = (found: State, least: number) =>
          states.slice(least, killed.given + 1).some((state) => same(state, found));
        const found = await read(killed.directory);
        expect(isPrefix(found, killed.acknowledged)).toBe(true);
        // What one start has found the next one finds.
        expect(await read(killed.directory)).toEqual(found);

        // A loss of power takes what was not synced yet. Wherever it cuts, what was synced before is there.
        const newest = findSegments(cut).at(-1)!;
        const whole = readFileSync(newest.path);
        const room = endOf(whole) - SEGMENT_HEADER_BYTES;
        const bytes = SEGMENT_HEADER_BYTES + Math.round(room * (1 - lost));
        const left = whole.subarray(0, bytes);
        writeFileSync(newest.path, leavesZeros ? Buffer.concat([left], whole.length) : left);
        const kept = killed.marks.filter(
          (mark) =>
            mark.first < newest.first || (mark.first === newest.first && mark.bytes <= bytes),
        );
        expect(isPrefix(await read(cut), kept.at(-1)?.acknowledged ?? 0)).toBe(true);
      } finally {
        rmSync(root, { recursive: true, force: true });
      }
    }),
    { numRuns: 30 },
  );
});
