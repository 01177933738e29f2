/** The tables of a data directory; a table's place in this list stands in the log, so that new ones come last. */
export const TABLES = ['catalogue', 'records', 'retries', 'changes', 'meta'] as const;

/** The name of a table. Keys of `records` are `[collection id, record id]`. */
export type TableName = (typeof TABLES)[number];

/** A key of a table. */
export type DiskKey = string | number | [number, number];

/** One change to one table; `value` null removes the key. The bytes must not change afterwards. */
export interface DiskChange {
  readonly table: TableName;
  readonly key: DiskKey;
  readonly value: Uint8Array | null;
}
