import { type DiskChange, type DiskKey, TABLES, type TableName } from './disk-change.js';

type Value = Uint8Array | null;

/** Changes of which only the newest for each key of each table is kept. */
export class PendingChanges {
  /** By table, except for `records`: those by collection and record. */
  readonly #tables = new Map<TableName, Map<DiskKey, Value>>();
  readonly #records = new Map<number, Map<number, Value>>();

  get isEmpty(): boolean {
    return this.#tables.size === 0 && this.#records.size === 0;
  }

  add(changes: readonly DiskChange[]): void {
    for (const { table, key, value } of changes) {
      if (typeof key === 'object') mapAt(this.#records, key[0]).set(key[1], value);
      else mapAt(this.#tables, table).set(key, value);
    }
  }

  /** One change for each key, those of a table together. */
  *[Symbol.iterator](): Iterator<DiskChange> {
    for (const table of TABLES) {
      for (const [key, value] of this.#tables.get(table) ?? []) yield { table, key, value };
    }
    for (const [collection, records] of this.#records) {
      for (const [record, value] of records) {
        yield { table: 'records', key: [collection, record], value };
      }
    }
  }
}

function mapAt<K, L, V>(maps: Map<K, Map<L, V>>, key: K): Map<L, V> {
  let map = maps.get(key);
  if (map === undefined) {
    map = new Map();
    maps.set(key, map);
  }
  return map;
}
