import { DbError } from '../errors.js';
import { commandScope } from '../expression/compile-expression.js';
import type { ExpressionEnv } from '../expression/scope.js';
import type { Doc, Value } from '../values/value.js';
import type { Transform, TransformDefinition } from './stage.js';
import { checkPipeline, stageForm, unknownStage } from './stage-form.js';
import { STAGE_NAMES } from './stage-names.js';
import { ADD_FIELDS, SET, UNSET } from './stages/add-fields.js';
import { PROJECT } from './stages/project.js';
import { REPLACE_ROOT, REPLACE_WITH } from './stages/replace-root.js';

/** The stages that make one document of one, which are the ones that an update may use. */
export const TRANSFORMS: ReadonlyMap<string, TransformDefinition> = new Map(
  [ADD_FIELDS, SET, UNSET, PROJECT, REPLACE_ROOT, REPLACE_WITH].map((stage) => [stage.name, stage]),
);

/** A compiled update of the form `[{$set: ...}, ...]`. */
export interface UpdatePipeline {
  /**
   * The document after all stages. Pure: the given document stays as it is. Where the stages drop
   * `_id` the result has none; the caller puts it back, and refuses a changed one.
   */
  apply(doc: Doc): Doc;
}

/**
 * Compiles the pipeline of an update. `$$NOW` is one instant for all stages and documents. Throws
 * 14 for an element that is no document, 40323 or 40324 for a stage that is no stage, 72 for one
 * that is not allowed in an update, and the stages' own errors.
 */
export function compileUpdatePipeline(
  pipeline: readonly Value[],
  env: ExpressionEnv,
): UpdatePipeline {
  checkPipeline(pipeline);
  const scope = commandScope(env);
  const transforms: Transform[] = [];
  // Every stage is read before any is refused for its kind, as in MongoDB.
  const stages = pipeline.map(stageForm);
  for (const { name, value } of stages) {
    const definition = TRANSFORMS.get(name);
    if (definition) transforms.push(definition.compile(value, scope));
    else if (STAGE_NAMES.has(name)) {
      throw new DbError(72, `${name} is not allowed to be used within an update`);
    } else throw unknownStage(name);
  }
  return {
    apply(doc) {
      let result = doc;
      for (const transform of transforms) result = transform(result);
      return result;
    },
  };
}
