/**
 * The frames of a log segment. One frame is what was committed together, and valid as a whole or not at all:
 *
 *   checksum u32 | mark u32 | bytes of the payload u32 | sequence number f64 | payload
 *
 * all little endian. The checksum (CRC-32) covers everything after itself and starts from the segment's own, so that a frame
 * of another segment or another log does not fit. The payload is a list of changes:
 *
 *   tag u8 | key | bytes of the value u32, value    (without the last two if the key is removed)
 *
 * The tag is the table's number times 8, plus the kind of the key, plus 4 for a removal. A key is a text (u32 bytes, UTF-8),
 * a number (f64) or two numbers.
 */
import { crc32 } from 'node:zlib';
import { type DiskChange, type DiskKey, TABLES } from './disk-change.js';

/** What stands before a frame's payload. */
export const FRAME_HEADER_BYTES = 20;

/** One commit of more than this is refused: it could not be read back in one piece. */
const MAX_FRAME_BYTES = 1024 ** 3;

/** A larger buffer is given back after its frame. */
const KEEP_BYTES = 1024 * 1024;
const FIRST_BYTES = 64 * 1024;

const MARK = Buffer.from([0xf1, 0x0e, 0xa3, 0x9d]);
const MARK_AT = 4;
const LENGTH_AT = 8;
const SEQUENCE_AT = 12;

const TEXT = 0;
const NUMBER = 1;
const PAIR = 2;
const REMOVED = 4;

const tableNumbers = new Map(TABLES.map((name, number) => [name, number]));

/** Builds one frame after the other in the same buffer. */
export class FrameWriter {
  #buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #at = FRAME_HEADER_BYTES;

  /** How many bytes the frame has so far, its header included. */
  get bytes(): number {
    return this.#at;
  }

  get isEmpty(): boolean {
    return this.#at === FRAME_HEADER_BYTES;
  }

  /** Throws RangeError for a frame that grows too large. */
  add({ table, key, value }: DiskChange): void {
    const keyBytes = typeof key === 'string' ? 4 + 3 * key.length : 16;
    this.#grow(5 + keyBytes + (value === null ? 0 : value.length));
    const tag = tableNumbers.get(table)! * 8 + (value === null ? REMOVED : 0);
    const buffer = this.#buffer;
    let at = this.#at;
    if (typeof key === 'string') {
      buffer[at] = tag + TEXT;
      const bytes = buffer.write(key, at + 5);
      at = buffer.writeUInt32LE(bytes, at + 1) + bytes;
    } else if (typeof key === 'number') {
      buffer[at] = tag + NUMBER;
      at = buffer.writeDoubleLE(key, at + 1);
    } else {
      buffer[at] = tag + PAIR;
      at = buffer.writeDoubleLE(key[0], at + 1);
      at = buffer.writeDoubleLE(key[1], at);
    }
    if (value !== null) {
      at = buffer.writeUInt32LE(value.length, at);
      buffer.set(value, at);
      at += value.length;
    }
    this.#at = at;
  }

  /** The finished frame; its bytes stay as they are until `reset`. */
  finish(sequence: number, seed: number): Buffer {
    const frame = this.#buffer.subarray(0, this.#at);
    frame.set(MARK, MARK_AT);
    frame.writeUInt32LE(this.#at - FRAME_HEADER_BYTES, LENGTH_AT);
    frame.writeDoubleLE(sequence, SEQUENCE_AT);
    frame.writeUInt32LE(crc32(frame.subarray(MARK_AT), seed), 0);
    return frame;
  }

  /** Begins an empty frame. */
  reset(): void {
    this.#at = FRAME_HEADER_BYTES;
    if (this.#buffer.length > KEEP_BYTES) this.#buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  }

  #grow(count: number): void {
    const needed = this.#at + count;
    if (needed <= this.#buffer.length) return;
    if (needed > MAX_FRAME_BYTES) {
      throw new RangeError(`one commit must not be larger than ${MAX_FRAME_BYTES} bytes`);
    }
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, needed));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}

/** A frame as it stands in a segment. */
export interface Frame {
  readonly sequence: number;
  readonly payload: Buffer;
  /** Where the next one begins. */
  readonly end: number;
}

/** The frame at a place of a segment; null if there is none that is whole. */
export function frameAt(segment: Buffer, at: number, seed: number): Frame | null {
  const start = at + FRAME_HEADER_BYTES;
  if (start > segment.length) return null;
  if (MARK.compare(segment, at + MARK_AT, at + MARK_AT + MARK.length) !== 0) return null;
  const end = start + segment.readUInt32LE(at + LENGTH_AT);
  if (end > segment.length) return null;
  if (segment.readUInt32LE(at) !== crc32(segment.subarray(at + MARK_AT, end), seed)) return null;
  const sequence = segment.readDoubleLE(at + SEQUENCE_AT);
  return { sequence, payload: segment.subarray(start, end), end };
}

/** Whether a whole frame begins anywhere after `from`. */
export function hasFrameAfter(segment: Buffer, from: number, seed: number): boolean {
  let at = segment.indexOf(MARK, from + MARK_AT + 1);
  while (at !== -1) {
    if (frameAt(segment, at - MARK_AT, seed) !== null) return true;
    at = segment.indexOf(MARK, at + 1);
  }
  return false;
}

/** The changes of a payload. Its values are parts of the payload itself. Throws for what no FrameWriter makes. */
export function* changesOf(payload: Buffer): Iterable<DiskChange> {
  let at = 0;
  while (at < payload.length) {
    const tag = payload[at]!;
    const table = TABLES[tag >> 3];
    if (table === undefined) throw new Error(`there is no table ${tag >> 3}`);
    at += 1;
    let key: DiskKey;
    switch (tag & 3) {
      case TEXT: {
        const end = at + 4 + payload.readUInt32LE(at);
        key = payload.toString('utf8', at + 4, end);
        at = end;
        break;
      }
      case NUMBER:
        key = payload.readDoubleLE(at);
        at += 8;
        break;
      case PAIR:
        key = [payload.readDoubleLE(at), payload.readDoubleLE(at + 8)];
        at += 16;
        break;
      default:
        throw new Error('there is no such kind of key');
    }
    if ((tag & REMOVED) !== 0) {
      yield { table, key, value: null };
      continue;
    }
    const end = at + 4 + payload.readUInt32LE(at);
    yield { table, key, value: payload.subarray(at + 4, end) };
    at = end;
  }
}
