import type { Scope } from '../expression/scope.js';
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
