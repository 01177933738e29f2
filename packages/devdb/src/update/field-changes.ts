import { type Doc, MISSING, type Missing, type Value } from '../values/value.js';

/**
 * What one update has changed, by dotted paths, as change streams tell it: what the operators set, whole, and what they
 * removed. It is written down while they work, in their order.
 */
export class FieldChanges {
  readonly #updated: Doc = new Map();
  readonly #removed: Value[] = [];

  set(path: string, value: Value): void {
    this.#updated.set(path, value);
  }

  remove(path: string): void {
    this.#removed.push(path);
  }

  /** An operator's outcome at its path; of an array that only grew, by `appended` elements, those are told. */
  record(path: string, value: Value | Missing, appended: number): void {
    if (value === MISSING) this.remove(path);
    else if (appended === 0 || !Array.isArray(value)) this.set(path, value);
    else {
      for (let index = value.length - appended; index < value.length; index++) {
        this.set(`${path}.${index}`, value[index]);
      }
    }
  }

  /** `{ updatedFields, removedFields }`. */
  describe(): Doc {
    return new Map<string, Value>([
      ['updatedFields', this.#updated],
      ['removedFields', this.#removed],
    ]);
  }
}
