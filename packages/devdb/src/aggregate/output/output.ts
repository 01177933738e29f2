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
   * same `on` fields. Null means that nothing is written. Throws 13113 where a match is required,
   * 11000 is left to the caller for `fail`.
   */
  decide(document: Doc, existing: Doc | undefined): MergeWrite | null;
  /** The filter that finds the existing document; throws 51132 where an `on` field is unusable. */
  filterFor(document: Doc): Doc;
}

/** One write of a `$merge`. */
export type MergeWrite =
  | { readonly kind: 'insert'; readonly document: Doc }
  | { readonly kind: 'replace'; readonly existing: Doc; readonly document: Doc }
  | { readonly kind: 'duplicate'; readonly existing: Doc; readonly document: Doc };

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
