import { DbError, typeMismatch } from '../errors.js';
import { isDoc, type Value } from '../values/value.js';

/** Checks that a pipeline is an array of documents (14), before any stage is looked at. */
export function checkPipeline(pipeline: readonly Value[]): void {
  for (const stage of pipeline) {
    if (!isDoc(stage)) throw typeMismatch("Each element of the 'pipeline' array must be an object");
  }
}

/** The name and the value of a stage; a stage has exactly one field (40323). */
export function stageForm(stage: Value): { name: string; value: Value } {
  if (!isDoc(stage)) throw typeMismatch("Each element of the 'pipeline' array must be an object");
  if (stage.size !== 1) {
    throw new DbError(
      40323,
      'A pipeline stage specification object must contain exactly one field.',
    );
  }
  const [[name, value]] = stage as unknown as [[string, Value]];
  return { name, value };
}

/** The error for a stage that is not known. */
export function unknownStage(name: string): DbError {
  return new DbError(40324, `Unrecognized pipeline stage name: '${name}'`);
}
