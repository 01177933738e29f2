import { DbError } from '../../errors.js';
import type { ExpressionEnv } from '../../expression/scope.js';
import type { Doc, Value } from '../../values/value.js';

/** Replaces a whole collection by the pipeline's documents; its indexes stay. */
export interface OutTarget {
  readonly kind: 'out';
  readonly collection: string;
}

/** Writes the pipeline's documents into a collection, one by one. */
export interface MergeTarget {
  readonly kind: 'merge';
  readonly database: string;
  readonly collection: string;
  /** The fields that tell which document of the collection goes with one of the pipeline. */
  readonly on: readonly string[];
  /**
   * What to write for a document of the pipeline. `existing` is the collection's document with the
   * same `on` fields. Null means that nothing is written. What to do about `duplicate` (E11000, at
   * once) and `unmatched` (13113, once the other documents are written) is the caller's part.
   */
  decide(document: Doc, existing: Doc | undefined): MergeWrite | null;
  /**
   * The filter that finds the existing document; throws 51132 where an `on` field is unusable.
   * MongoDB asks this of all documents (of a batch) before it writes any of them.
   */
  filterFor(document: Doc): Doc;
}

/** One write of a `$merge`. */
export type MergeWrite =
  | { readonly kind: 'insert'; readonly document: Doc }
  | { readonly kind: 'replace'; readonly existing: Doc; readonly document: Doc }
  /** The existing document with the fields of the other one set. */
  | { readonly kind: 'merge'; readonly existing: Doc; readonly document: Doc }
  | { readonly kind: 'duplicate'; readonly existing: Doc; readonly document: Doc }
  | { readonly kind: 'unmatched' };

/** The error for documents that had to match one of the collection and did not. */
export function unmatchedError(): DbError {
  return new DbError(
    13113,
    '$merge could not find a matching document in the target collection for at least one document ' +
      'in the source collection',
  );
}

/** Where a pipeline writes to. */
export type OutputTarget = OutTarget | MergeTarget;

/** What an output stage is compiled with. */
export interface OutputContext {
  readonly env: ExpressionEnv & { readonly database: string; readonly collection: string | null };
  isUniqueKey(collection: string, fields: readonly string[]): boolean;
}

/** A stage that ends a pipeline by writing. */
export interface OutputDefinition {
  readonly name: string;
  readonly compile: (value: Value, context: OutputContext) => OutputTarget;
}
