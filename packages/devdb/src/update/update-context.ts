import type { DbError } from '../errors.js';
import type { Doc, Missing, Timestamp, Value } from '../values/value.js';
import type { FieldChanges } from './field-changes.js';

/** What one application of an update to one document knows and finds out. */
export interface UpdateContext {
  /** The document as it was before the update; what `$rename` takes its value from. */
  readonly root: Doc;
  readonly isInsert: boolean;
  /** The array index that the filter matched at, for the positional `$`. */
  readonly matchedIndex: number | undefined;
  /** The server's clock: `$currentDate`. */
  readonly now: Date;
  readonly timestamp: () => Timestamp;
  /** Whether anything was changed; operators that find nothing to do leave it. */
  modified: boolean;
  /** Paths that `$rename` has emptied. */
  readonly removedPaths: (readonly string[])[];
  /** What is told to change streams; null where nobody wants to know. */
  changes: FieldChanges | null;
  /** How many elements the operator at work has put behind those that an array had, and done nothing else. */
  appended: number;
}

/** Stands for a place that cannot be created: below a scalar, or by a name in an array. */
export class NotViable {
  constructor(readonly error: DbError) {}
}

/** What an operator finds at its path. */
export type Slot = Value | Missing | NotViable;

/** An operator at the end of a path. */
export interface LeafOperator {
  /**
   * The value after the operator: MISSING where there is none (or none any more). An operator that
   * changes nothing gives back what it found and leaves `context.modified`. Throws where MongoDB
   * refuses; the document is then left as it was.
   */
  apply(found: Value | Missing, context: UpdateContext, place: LeafPlace): Value | Missing;
  /** What becomes of a path that cannot be created; without it that is an error. */
  readonly ignoresNonViablePath?: true | 'unless inserting';
}

/** Where a node stands in the document, with array indexes filled in; the root has no parent. */
export interface LeafPlace {
  readonly parent: LeafPlace | null;
  readonly name: string;
  /** Whether one of the containers on the way is an array. */
  readonly isInArray: boolean;
}

/** The dotted path of a place, for messages. */
export function dottedPath(place: LeafPlace): string {
  if (place.parent === null) return '';
  const above = dottedPath(place.parent);
  return above === '' ? place.name : `${above}.${place.name}`;
}
