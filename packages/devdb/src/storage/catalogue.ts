import type { Doc, Value } from '../values/value.js';
import type { Collection } from './collection.js';

/** A view: a stored pipeline over another collection or view of the same database. */
export interface View {
  readonly database: string;
  readonly name: string;
  readonly viewOn: string;
  readonly pipeline: readonly Value[];
  readonly options: Doc;
  /** The number of its entry in the stored catalogue. */
  readonly id: number;
}

/** All collections and views by database and name. */
export class Catalogue {
  readonly #databases = new Map<string, Map<string, Collection | View>>();

  collection(database: string, name: string): Collection | undefined {
    const entry = this.#databases.get(database)?.get(name);
    return entry !== undefined && 'records' in entry ? entry : undefined;
  }

  view(database: string, name: string): View | undefined {
    const entry = this.#databases.get(database)?.get(name);
    return entry !== undefined && 'viewOn' in entry ? entry : undefined;
  }

  has(database: string, name: string): boolean {
    return this.#databases.get(database)?.has(name) ?? false;
  }

  set(database: string, name: string, entry: Collection | View): void {
    let names = this.#databases.get(database);
    if (names === undefined) {
      names = new Map();
      this.#databases.set(database, names);
    }
    names.set(name, entry);
  }

  delete(database: string, name: string): void {
    const names = this.#databases.get(database);
    names?.delete(name);
    if (names?.size === 0) this.#databases.delete(database);
  }

  /** The name of another database that differs from `database` only in the case of its letters. */
  databaseOfOtherCase(database: string): string | undefined {
    if (this.#databases.has(database)) return undefined;
    const folded = foldCase(database);
    return [...this.#databases.keys()].find((name) => foldCase(name) === folded);
  }

  databaseNames(): string[] {
    return [...this.#databases.keys()].sort();
  }

  /** The entries of one database in order of creation. */
  entries(database: string): (Collection | View)[] {
    return [...(this.#databases.get(database)?.values() ?? [])];
  }

  /** All collections, views left out. */
  *collections(): Iterable<Collection> {
    for (const names of this.#databases.values()) {
      for (const entry of names.values()) if ('records' in entry) yield entry;
    }
  }

  /** A catalogue with a clone of each collection: what a transaction reads and writes. */
  snapshot(): Catalogue {
    const copy = new Catalogue();
    for (const [database, names] of this.#databases) {
      for (const [name, entry] of names) {
        copy.set(database, name, 'records' in entry ? entry.clone() : entry);
      }
    }
    return copy;
  }
}

/** Only the letters of ASCII have a case here, as in MongoDB. */
function foldCase(name: string): string {
  return name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
