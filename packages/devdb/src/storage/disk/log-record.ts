import type { Tables } from './tables.js';

/** What the tables know of the log. */
export interface LogRecord {
  /** Random, and in each segment: segments of two directories cannot be mixed up. */
  readonly id: Uint8Array;
  /** All frames up to this number are in the tables. */
  readonly checkpoint: number;
}

/** How long an id is. */
export const LOG_ID_BYTES = 16;

/** Null if the tables name no log. */
export function readLogRecord(tables: Tables): LogRecord | null {
  const bytes = tables.get('meta', 'log');
  if (bytes === undefined) return null;
  // lmdb lends its memory.
  const id = Uint8Array.prototype.slice.call(bytes, 0, LOG_ID_BYTES);
  return { id, checkpoint: bytes.readDoubleLE(LOG_ID_BYTES) };
}

/** Resolves when it is synced. */
export function writeLogRecord(tables: Tables, { id, checkpoint }: LogRecord): Promise<void> {
  const value = Buffer.alloc(LOG_ID_BYTES + 8);
  value.set(id);
  value.writeDoubleLE(checkpoint, LOG_ID_BYTES);
  return tables.write([{ table: 'meta', key: 'log', value }]);
}
