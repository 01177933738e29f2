import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type DiskChange, type DiskKey, TABLES } from './disk-change.js';
import { changesOf, FrameWriter, frameAt, hasFrameAfter } from './frame.js';

const SEED = 4711;
const count = fc.nat(Number.MAX_SAFE_INTEGER);
const key: fc.Arbitrary<DiskKey> = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  count,
  fc.tuple(count, count),
);
const change: fc.Arbitrary<DiskChange> = fc.record({
  table: fc.constantFrom(...TABLES),
  key,
  value: fc.oneof(fc.constant(null), fc.uint8Array({ maxLength: 300 })),
});

function frameOf(changes: readonly DiskChange[], sequence = 1, seed = SEED): Buffer {
  const writer = new FrameWriter();
  for (const one of changes) writer.add(one);
  return Buffer.from(writer.finish(sequence, seed));
}

const plain = (changes: Iterable<DiskChange>) =>
  [...changes].map(({ table, key, value }) => [table, key, value && [...value]]);

describe('a frame', () => {
  test('gives back the changes that were put in', () => {
    const writer = new FrameWriter();
    fc.assert(
      fc.property(fc.array(change), count, fc.uint8Array(), (changes, sequence, after) => {
        // One writer for all: nothing of an earlier frame may show.
        writer.reset();
        for (const one of changes) writer.add(one);
        const frame = Buffer.concat([writer.finish(sequence, SEED), after]);
        const read = frameAt(frame, 0, SEED);
        expect(read?.sequence).toBe(sequence);
        expect(read?.end).toBe(frame.length - after.length);
        expect(plain(changesOf(read!.payload))).toEqual(plain(changes));
      }),
    );
  });

  test('takes values larger than its first buffer', () => {
    const value = Buffer.alloc(3_000_000, 7);
    const frame = frameOf([
      { table: 'records', key: [1, 2], value },
      { table: 'retries', key: 'a', value: null },
    ]);
    expect(plain(changesOf(frameAt(frame, 0, SEED)!.payload))[0]![2]).toHaveLength(value.length);
  });

  test('is none with any bit turned, cut anywhere, or read with another seed', () => {
    const frame = frameOf([{ table: 'meta', key: 'k', value: Buffer.from('value') }]);
    for (let bit = 0; bit < frame.length * 8; bit++) {
      const turned = Buffer.from(frame);
      turned[bit >> 3]! ^= 1 << (bit & 7);
      expect(frameAt(turned, 0, SEED)).toBeNull();
    }
    for (let length = 0; length < frame.length; length++) {
      expect(frameAt(frame.subarray(0, length), 0, SEED)).toBeNull();
    }
    expect(frameAt(frame, 0, SEED + 1)).toBeNull();
  });

  test('is found after any broken bytes, and not where there is none', () => {
    const frame = frameOf([{ table: 'changes', key: 9, value: Buffer.from('x') }]);
    for (const before of [1, 2, 3, 20, 1000]) {
      const bytes = Buffer.concat([Buffer.alloc(before, 0xf1), frame]);
      expect(hasFrameAfter(bytes, 0, SEED)).toBe(true);
      expect(hasFrameAfter(bytes, 0, SEED + 1)).toBe(false);
      expect(hasFrameAfter(bytes.subarray(0, -1), 0, SEED)).toBe(false);
    }
  });
});

test('a payload that no writer makes is an error', () => {
  expect(() => [...changesOf(Buffer.from([0xff]))]).toThrow(/no table/);
  expect(() => [...changesOf(Buffer.from([3]))]).toThrow(/no such kind of key/);
  expect(() => [...changesOf(Buffer.from([1, 0]))]).toThrow(RangeError);
});
