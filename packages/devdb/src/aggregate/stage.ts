import type { ExpressionEnv, Scope } from '../expression/scope.js';
import type { Doc, Value } from '../values/value.js';

/** A stage that makes one document of each. */
export type Transform = (doc: Doc) => Doc;

/** A compiled stage: takes documents one by one and gives documents; it may keep them all first. */
export type Stage = (source: Iterable<Doc>) => Iterable<Doc>;

/** A stage whose documents map one to one; such stages may stand in an update. */
export interface TransformDefinition {
  readonly name: string;
  /** Compiles the stage's value; throws MongoDB's error for a wrong one. */
  readonly compile: (value: Value, scope: Scope) => Transform;
}

/** What the surroundings give to a pipeline. Everything is synchronous: a pipeline sees one state. */
export interface PipelineEnv extends ExpressionEnv {
  /** The database and the collection that the command names; no collection for `{aggregate: 1}`. */
  readonly database: string;
  readonly collection: string | null;
  /**
   * The documents of a collection of the same database that match the filter, in natural order.
   * None for a collection that does not exist. It may use an index, and must not change its mind
   * about the documents while they are read.
   */
  readCollection(name: string, filter?: Doc): Iterable<Doc>;
  /** Called now and then while documents are read; throws when the command's time is over (50). */
  checkTime?(): void;
  /** Random numbers from 0 up to but not including 1, for `$sample`. */
  random(): number;
  /**
   * The documents of a stage that reads no collection, such as `$indexStats`; undefined for a stage
   * that is not offered here.
   */
  generate?(stage: string, specification: Value): Iterable<Doc> | undefined;
  /** Whether documents of a collection are told apart by these fields (a unique index). */
  isUniqueKey?(collection: string, fields: readonly string[]): boolean;
}

/** Where a pipeline stands: stages that read or write on their own are refused in some places. */
export type Placement = 'command' | '$facet' | '$lookup';

/** What a stage needs to compile itself. */
export interface StageContext {
  readonly scope: Scope;
  readonly env: PipelineEnv;
  readonly placement: Placement;
  /** Where in its pipeline the stage stands, from 0. */
  readonly index: number;
  /** Compiles a pipeline inside of this one, with the variables of `scope`. */
  compileInner(pipeline: readonly Value[], scope: Scope, placement: Placement): Stage;
  /** Compiles a pipeline over another collection, which it reads itself. */
  compileReading(collection: string, pipeline: readonly Value[], scope: Scope): () => Iterable<Doc>;
}

/** One row of the table of stages. */
export interface StageDefinition {
  readonly name: string;
  /** A stage that makes documents by itself must come first. */
  readonly first?: true;
  /** Whether it is for a whole database, `{aggregate: 1}`. */
  readonly forDatabase?: true;
  /** Whether it may not stand inside of `$facet`. */
  readonly refusedInFacet?: true;
  readonly compile: (value: Value, context: StageContext) => Stage;
}
