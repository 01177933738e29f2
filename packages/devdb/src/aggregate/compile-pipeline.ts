import { DbError } from '../errors.js';
import { commandScope } from '../expression/compile-expression.js';
import type { Scope } from '../expression/scope.js';
import type { Doc, Value } from '../values/value.js';
import type { OutputTarget } from './output/output.js';
import type { PipelineEnv, Placement, Stage, StageContext } from './stage.js';
import { checkPipeline, stageForm, unknownStage } from './stage-form.js';
import { OUTPUTS, STAGES } from './stage-table.js';
import { matchFilter } from './stages/match.js';

/** A compiled pipeline. */
export interface Pipeline {
  /**
   * Runs the stages over documents, one by one where they allow it: reading stops as soon as no
   * more are needed. Throws a DbError in the middle where an expression fails.
   */
  run(source: Iterable<Doc>): Iterable<Doc>;
  /**
   * The filter of the `$match` that the pipeline starts with, for the planner: a source that holds
   * only matching documents gives the same result. Undefined without one, and for one that the
   * planner cannot look into.
   */
  readonly leadingFilter: Doc | undefined;
  /** Whether the first stage makes its documents itself, so that no collection has to be read. */
  readonly ignoresSource: boolean;
  /** Where the result is written to, for `$out` and `$merge`; the caller writes. */
  readonly output: OutputTarget | undefined;
}

/**
 * Compiles the pipeline of an aggregate command. Constants are computed here, so that a constant
 * fault fails even over an empty collection. Throws 14 for an element that is no document, 40323
 * and 40324 for what is no stage, 40600 to 40602 and 51047 for a stage in a wrong place, and the
 * stages' own errors, all with MongoDB's codes.
 */
export function compilePipeline(pipeline: readonly Value[], env: PipelineEnv): Pipeline {
  checkPipeline(pipeline);
  const scope = commandScope(env);
  const last = pipeline.length > 0 ? stageForm(pipeline.at(-1)!) : undefined;
  const outputStage = last && OUTPUTS.get(last.name);
  const reading = outputStage ? pipeline.slice(0, -1) : pipeline;
  const run = compileStages(reading, scope, env, 'command');
  const isUniqueKey = env.isUniqueKey ?? (() => false);
  const output = outputStage?.compile(last!.value, { env, isUniqueKey });
  scope.foldConstants();
  const first = pipeline.length > 0 ? stageForm(pipeline[0]!) : undefined;
  const ignoresSource = first !== undefined && STAGES.get(first.name)?.first === true;
  return {
    run: (source) => run(watched(source, env)),
    leadingFilter: filterOf(first),
    ignoresSource,
    output,
  };
}

/**
 * Refuses a pipeline that needs a collection, for a command that names none, `{aggregate: 1}` (73).
 */
export function refuseWithoutCollection(pipeline: readonly Value[]): void {
  if (pipeline.length === 0) {
    throw new DbError(73, '{aggregate: 1} is not valid for an empty pipeline.');
  }
  const { name } = stageForm(pipeline[0]!);
  const definition = STAGES.get(name);
  if (!definition && !OUTPUTS.has(name)) throw unknownStage(name);
  if (definition?.forDatabase) return;
  throw new DbError(73, `{aggregate: 1} is not valid for '${name}'; a collection is required.`);
}

function filterOf(first: { name: string; value: Value } | undefined): Doc | undefined {
  return first?.name === '$match' ? matchFilter(first.value) : undefined;
}

function compileStages(
  pipeline: readonly Value[],
  scope: Scope,
  env: PipelineEnv,
  placement: Placement,
): Stage {
  const shared: Omit<StageContext, 'index'> = {
    scope,
    env,
    placement,
    compileInner(inner, innerScope, innerPlacement) {
      checkPipeline(inner);
      return compileStages(inner, innerScope, env, innerPlacement);
    },
    compileReading(collection, inner, innerScope) {
      checkPipeline(inner);
      const run = compileStages(inner, innerScope, { ...env, collection }, '$lookup');
      const filter = plainFilter(inner);
      return () => run(watched(env.readCollection(collection, filter), env));
    },
  };
  const stages = pipeline.map((stage, index) => compileStage(stage, { ...shared, index }));
  return (source) => stages.reduce((documents, stage) => stage(documents), source);
}

/** How many documents are read between two looks at the clock. */
const READ_BETWEEN_CHECKS = 64;

/** The documents, as long as there is time for them. */
function* watched(source: Iterable<Doc>, env: PipelineEnv): Generator<Doc> {
  let read = 0;
  for (const document of source) {
    if (read++ % READ_BETWEEN_CHECKS === 0) env.checkTime?.();
    yield document;
  }
}

/** The leading filter of an inner pipeline, unless it depends on variables. */
function plainFilter(pipeline: readonly Value[]): Doc | undefined {
  if (pipeline.length === 0) return undefined;
  const filter = filterOf(stageForm(pipeline[0]!));
  return filter && !mentionsExpr(filter) ? filter : undefined;
}

function mentionsExpr(value: Value): boolean {
  if (Array.isArray(value)) return value.some(mentionsExpr);
  if (!(value instanceof Map)) return false;
  for (const [key, inner] of value) if (key === '$expr' || mentionsExpr(inner)) return true;
  return false;
}

function compileStage(stage: Value, context: StageContext): Stage {
  const { name, value } = stageForm(stage);
  if (OUTPUTS.has(name)) throw misplacedOutput(name, context.placement);
  const definition = STAGES.get(name);
  if (!definition) throw unknownStage(name);
  const compiled = definition.compile(value, context);
  if (definition.refusedInFacet && context.placement === '$facet') {
    throw new DbError(40600, `${name} is not allowed to be used within a $facet stage`);
  }
  if (definition.first && context.index > 0) {
    throw new DbError(40602, `${name} is only valid as the first stage in a pipeline.`);
  }
  return compiled;
}

function misplacedOutput(name: string, placement: Placement): DbError {
  if (placement === '$facet') {
    return new DbError(40600, `${name} is not allowed to be used within a $facet stage`);
  }
  if (placement === '$lookup') {
    return new DbError(51047, `${name} is not allowed within a $lookup's sub-pipeline`);
  }
  return new DbError(40601, `${name} can only be the final stage in the pipeline`);
}
