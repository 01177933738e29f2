import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FrameWriter } from './frame.js';
import { LogFault, replayLog } from './replay.js';
import { findSegments, SEGMENT_HEADER_BYTES, Segment } from './segment.js';
import { SyncedWriter } from './synced-writer.js';

const ID = Buffer.alloc(16, 5);
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'devdb-replay-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

/** Writes a segment whose frames each say their own number; gives where each of them ends. */
async function write(first: number, frames: number, id = ID): Promise<number[]> {
  const segment = await Segment.create(directory, id, first, new SyncedWriter());
  const ends: number[] = [];
  for (let number = first; number < first + frames; number++) {
    await segment.append(frameOf(number, segment.seed));
    ends.push(segment.bytes);
  }
  segment.close();
  return ends;
}

function frameOf(number: number, seed: number, sequence = number): Buffer {
  const writer = new FrameWriter();
  writer.add({ table: 'changes', key: number, value: Buffer.from(`frame ${number}`) });
  return writer.finish(sequence, seed);
}

const path = (first: number) => join(directory, `log-${String(first).padStart(16, '0')}`);

function read(checkpoint: number, id = ID) {
  const { pending, last, end } = replayLog(directory, { id, checkpoint });
  return { keys: [...pending].map(({ key }) => key), last, end };
}

describe('a log', () => {
  test('is read over its segments, from the checkpoint on', async () => {
    await write(1, 3);
    await write(4, 2);
    const ends = await write(6, 1);
    expect(read(0)).toEqual({ keys: [1, 2, 3, 4, 5, 6], last: 6, end: ends[0] });
    expect(read(3).keys).toEqual([4, 5, 6]);
    expect(read(5).keys).toEqual([6]);
  });

  test('without frames is at its checkpoint', async () => {
    await write(4, 0);
    expect(read(3)).toEqual({ keys: [], last: 3, end: SEGMENT_HEADER_BYTES });
  });

  test('that was cut anywhere after its header gives the frames before the cut', async () => {
    await write(1, 2);
    const ends = await write(3, 3);
    const whole = readFileSync(path(3));
    for (let length = ends[2]! + 3; length >= SEGMENT_HEADER_BYTES; length--) {
      const kept = ends.filter((end) => end <= length);
      const expected = { last: 2 + kept.length, end: kept.at(-1) ?? SEGMENT_HEADER_BYTES };
      writeFileSync(path(3), whole.subarray(0, length));
      expect(read(0)).toMatchObject(expected);
      // What was not written yet may be zeros instead.
      writeFileSync(path(3), Buffer.concat([whole.subarray(0, length)], ends[2]! + 50));
      expect(read(0)).toMatchObject(expected);
    }
  });

  test('has zeros behind its frames, in any of its segments', async () => {
    const ends = await write(1, 2);
    await write(3, 1);
    const zeros = readFileSync(path(1)).subarray(ends[1]!);
    expect(zeros.length).toBeGreaterThan(100_000);
    expect(zeros.equals(Buffer.alloc(zeros.length))).toBe(true);
    expect(read(0).keys).toEqual([1, 2, 3]);
    const changed = readFileSync(path(1));
    changed[ends[1]! + 5000] = 1;
    writeFileSync(path(1), changed);
    expect(() => read(0)).toThrow(/is broken at byte/);
  });

  test('with any byte of the last frame changed gives the frames before it', async () => {
    const ends = await write(1, 3);
    const whole = readFileSync(path(1)).subarray(0, ends[2]);
    for (let at = ends[1]!; at < whole.length; at++) {
      const changed = Buffer.from(whole);
      changed[at]! ^= 0xff;
      writeFileSync(path(1), changed);
      expect(read(0)).toEqual({ keys: [1, 2], last: 2, end: ends[1] });
    }
  });

  test('with any other byte changed is refused', async () => {
    const ends = await write(1, 3);
    const whole = readFileSync(path(1)).subarray(0, ends[2]);
    for (let at = 0; at < ends[1]!; at++) {
      const changed = Buffer.from(whole);
      changed[at]! ^= 0xff;
      writeFileSync(path(1), changed);
      expect(() => read(0)).toThrow(LogFault);
    }
  });

  test('with bytes after its last frame that are none is read up to them', async () => {
    const ends = await write(1, 2);
    appendFileSync(path(1), Buffer.alloc(5000));
    expect(read(0)).toEqual({ keys: [1, 2], last: 2, end: ends[1] });
  });

  test('that was cut in a segment before the last is refused', async () => {
    const ends = await write(1, 2);
    await write(3, 1);
    truncateSync(path(1), ends[1]! - 1);
    expect(() => read(0)).toThrow(/^log-0{15}1 is broken at byte \d+ of \d+$/);
    truncateSync(path(1), ends[0]!);
    expect(() => read(0)).toThrow('the log ends at number 1 and goes on in log-0000000000000003');
    truncateSync(path(1), ends[1]!);
    expect(() => read(0)).toThrow('the log ends at number 1 and goes on in log-0000000000000003');
  });

  test('with a number left out or twice is refused', async () => {
    const [end] = await write(1, 1);
    const segment = Segment.continue(findSegments(directory)[0]!, ID, end!, new SyncedWriter());
    await segment.append(frameOf(2, segment.seed, 3));
    segment.close();
    expect(() => read(0)).toThrow(/has number 3 at byte \d+ and should have 2/);
  });

  test('of which a segment is missing is refused', async () => {
    await write(1, 2);
    await write(3, 2);
    await write(5, 1);
    rmSync(path(3));
    expect(() => read(0)).toThrow('the log ends at number 2 and goes on in log-0000000000000005');
    expect(() => read(2)).toThrow(/the log from number 3 is missing/);
    rmSync(path(1));
    rmSync(path(5));
    expect(() => read(0)).toThrow('the log from number 1 is missing (found: none)');
  });

  test('of another directory, of another name, or no log at all is refused', async () => {
    await write(1, 1);
    expect(() => read(0, Buffer.alloc(16, 6))).toThrow(/it is of the log of another directory/);
    renameSync(path(1), path(2));
    expect(() => read(1)).toThrow(/it begins with number 1/);
    writeFileSync(path(2), 'something else, and long enough to be a header');
    expect(() => read(1)).toThrow(/it does not begin as a segment of a log/);
    writeFileSync(path(2), '');
    expect(() => read(1)).toThrow(/it does not begin as a segment of a log/);
  });

  test('is read beside a segment that was not finished', async () => {
    await write(1, 1);
    writeFileSync(`${path(2)}.new`, 'FLOW');
    expect(read(0).keys).toEqual([1]);
  });
});
