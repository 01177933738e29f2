/**
 * Reads the log of a data directory. What is not exactly as the protocol in `disk.ts` leaves it, whenever the process dies, is
 * refused: a log that was tampered with must not look like one that was cut short.
 */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { changesOf, frameAt, hasFrameAfter } from './frame.js';
import type { LogRecord } from './log-record.js';
import { PendingChanges } from './pending-changes.js';
import {
  faultOfHeader,
  findSegments,
  SEGMENT_HEADER_BYTES,
  type SegmentName,
  seedOf,
} from './segment.js';

/** A log that does not fit; the message says why in words. */
export class LogFault extends Error {
  override readonly name = 'LogFault';
}

/** What a log holds beyond the checkpoint. */
export interface Replayed {
  readonly pending: PendingChanges;
  /** The number of the last whole frame, or the checkpoint. */
  readonly last: number;
  readonly newest: SegmentName;
  /** Where the whole frames of the newest segment end. */
  readonly end: number;
}

/** Reads all segments. Throws LogFault. */
export function replayLog(directory: string, { id, checkpoint }: LogRecord): Replayed {
  const segments = findSegments(directory);
  const pending = new PendingChanges();
  // The segment after a checkpoint is made before the checkpoint.
  const from = segments.findIndex(({ first }) => first === checkpoint + 1);
  if (from === -1) {
    const found = segments.map(({ path }) => basename(path)).join(', ') || 'none';
    throw new LogFault(`the log from number ${checkpoint + 1} is missing (found: ${found})`);
  }
  const live = segments.slice(from);
  let last = checkpoint;
  let end = 0;
  for (const [index, segment] of live.entries()) {
    if (segment.first !== last + 1) {
      throw new LogFault(`the log ends at number ${last} and goes on in ${basename(segment.path)}`);
    }
    ({ last, end } = readSegment(segment, id, index === live.length - 1, pending));
  }
  return { pending, last, newest: live.at(-1)!, end };
}

function readSegment(
  { path, first }: SegmentName,
  id: Uint8Array,
  isLast: boolean,
  pending: PendingChanges,
): { last: number; end: number } {
  const bytes = readFileSync(path);
  const fault = faultOfHeader(bytes, id, first);
  if (fault !== null) throw new LogFault(`${basename(path)} does not belong here: ${fault}`);
  const seed = seedOf(bytes);
  let end = SEGMENT_HEADER_BYTES;
  let next = first;
  while (end < bytes.length) {
    const frame = frameAt(bytes, end, seed);
    if (frame === null) {
      if (isZero(bytes.subarray(end))) break;
      // A write that was cut short is the last one of all: the next one waits until it is synced.
      if (isLast && !hasFrameAfter(bytes, end, seed)) break;
      throw new LogFault(`${basename(path)} is broken at byte ${end} of ${bytes.length}`);
    }
    if (frame.sequence !== next) {
      throw new LogFault(
        `${basename(path)} has number ${frame.sequence} at byte ${end} and should have ${next}`,
      );
    }
    try {
      pending.add([...changesOf(frame.payload)]);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new LogFault(`${basename(path)} cannot be read at byte ${end}: ${why}`);
    }
    end = frame.end;
    next += 1;
  }
  return { last: next - 1, end };
}

function isZero(bytes: Buffer): boolean {
  return bytes.equals(Buffer.alloc(bytes.length));
}
