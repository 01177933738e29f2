import { DbError, failedToParse } from '../../errors.js';
import type { Expression } from '../../expression/expression.js';
import { checkVariableName, splitFieldPath } from '../../expression/field-path.js';
import type { Scope, Slot } from '../../expression/scope.js';
import { formatValue } from '../../values/format.js';
import { typeName } from '../../values/type-names.js';
import { BSONRegExp, type Doc, doc, isDoc, type Value } from '../../values/value.js';
import { visitValues, withNestedField } from '../nested-field.js';
import type { StageContext, StageDefinition } from '../stage.js';

/** `$lookup`: the documents of another collection that go with each document, as an array. */
export const LOOKUP: StageDefinition = {
  name: '$lookup',
  compile(value, context) {
    const options = readOptions(value);
    const path = splitFieldPath(options.as);
    const find =
      options.pipeline === undefined
        ? byField(options, context)
        : byPipeline(options.from, options.pipeline, options.let, context);
    return function* lookup(source) {
      for (const document of source) yield withNestedField(document, path, [...find(document)]);
    };
  },
};

interface LookupOptions {
  from: string;
  as: string;
  localField: string | undefined;
  foreignField: string | undefined;
  let: Doc | undefined;
  pipeline: Value[] | undefined;
}

function readOptions(value: Value): LookupOptions {
  if (!isDoc(value)) {
    throw failedToParse(
      `the $lookup stage specification must be an object, but found ${typeName(value)}`,
    );
  }
  const texts = new Map<string, string>();
  let variables: Doc | undefined;
  let pipeline: Value[] | undefined;
  for (const [key, option] of value) {
    if (key === 'pipeline') {
      if (!Array.isArray(option)) throw failedToParse("'pipeline' option must be an array");
      pipeline = option;
    } else if (key === 'let') {
      if (!isDoc(option)) throw failedToParse("$lookup argument 'let' must be an object");
      variables = option;
    } else if (typeof option !== 'string') {
      throw failedToParse(
        `$lookup argument '${key}' must be a string, found ${key}: ${formatValue(option)}: ` +
          typeName(option),
      );
    } else if (['from', 'as', 'localField', 'foreignField'].includes(key)) texts.set(key, option);
    else throw failedToParse(`unknown argument to $lookup: ${key}`);
  }
  const from = texts.get('from');
  const as = texts.get('as');
  if (from === undefined)
    throw failedToParse("missing 'from' option to $lookup stage specification");
  if (as === undefined) throw failedToParse("must specify 'as' field for a $lookup");
  const localField = texts.get('localField');
  const foreignField = texts.get('foreignField');
  if (pipeline !== undefined) {
    if (localField !== undefined || foreignField !== undefined) {
      throw failedToParse("$lookup with 'pipeline' may not specify 'localField' or 'foreignField'");
    }
  } else if (localField === undefined || foreignField === undefined) {
    throw failedToParse(
      "$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified",
    );
  } else if (variables !== undefined) {
    throw failedToParse("$lookup with a 'let' argument must also specify 'pipeline'");
  }
  return { from, as, localField, foreignField, let: variables, pipeline };
}

type Find = (document: Doc) => Iterable<Doc>;

/** Equality of a field here and a field there; an absent field counts as null. */
function byField(options: LookupOptions, { env }: StageContext): Find {
  const local = splitFieldPath(options.localField as string);
  const foreign = options.foreignField as string;
  splitFieldPath(foreign);
  return (document) => {
    const values: Value[] = [];
    visitValues(document, local, (value) => values.push(value));
    if (values.length === 0) values.push(null);
    return env.readCollection(options.from, equalityFilter(foreign, values));
  };
}

/** A regular expression is a value here and not a pattern, which only `$eq` says. */
function equalityFilter(field: string, values: Value[]): Doc {
  if (values.length === 1) return doc([field, doc(['$eq', values[0] as Value])]);
  if (!values.some((value) => value instanceof BSONRegExp))
    return doc([field, doc(['$in', values])]);
  return doc(['$or', values.map((value) => doc([field, doc(['$eq', value])]))]);
}

function byPipeline(
  from: string,
  pipeline: readonly Value[],
  variables: Doc | undefined,
  context: StageContext,
): Find {
  const { scope, bindings } = declareAll(variables ?? new Map(), context.scope);
  const read = context.compileReading(from, pipeline, scope);
  return (document) => {
    for (const { slot, expression } of bindings) slot.set(expression.evaluate(document));
    return read();
  };
}

interface Binding {
  slot: Slot;
  expression: Expression;
}

/** Declares the variables of a `let`; their expressions see the outer scope only. */
export function declareAll(variables: Doc, scope: Scope): { scope: Scope; bindings: Binding[] } {
  let inner = scope;
  const bindings = [...variables].map(([name, value]) => {
    checkVariableName(name);
    if (name === 'CURRENT') throw new DbError(16867, "'CURRENT' cannot be set by a 'let'");
    const declared = inner.declare(name);
    inner = declared.scope;
    return { slot: declared.slot, expression: scope.compile(value) };
  });
  return { scope: inner, bindings };
}
