import { DbError, failedToParse } from '../../errors.js';
import { isNullish } from '../../expression/expression.js';
import { splitFieldPath } from '../../expression/field-path.js';
import { ValueSet } from '../../expression/operators/sets.js';
import { toDouble } from '../../values/numbers.js';
import { typeName } from '../../values/type-names.js';
import { type Doc, doc, isDoc, isNumeric, Long, MISSING, type Value } from '../../values/value.js';
import { visitValues, withNestedField } from '../nested-field.js';
import type { PipelineEnv, StageDefinition } from '../stage.js';

/** `$graphLookup`: what can be reached from each document through another collection. */
export const GRAPH_LOOKUP: StageDefinition = {
  name: '$graphLookup',
  compile(value, { scope, env }) {
    const options = readOptions(value);
    const start = scope.compile(options.startWith);
    return function* graphLookup(source) {
      for (const document of source) {
        const from = start.evaluate(document);
        const frontier = Array.isArray(from) ? from : from === MISSING ? [] : [from];
        yield withNestedField(document, options.as, [...reach(frontier, options, env)]);
      }
    };
  },
};

interface GraphOptions {
  from: string;
  startWith: Value;
  connectFrom: readonly string[];
  connectTo: string;
  as: readonly string[];
  maxDepth: number;
  depthField: readonly string[] | undefined;
  restriction: Doc | undefined;
}

/** Breadth first; each document is found once, at its least depth. */
function* reach(start: readonly Value[], options: GraphOptions, env: PipelineEnv): Generator<Doc> {
  const visited = new ValueSet();
  const asked = new ValueSet();
  let frontier = start.filter((value) => asked.add(value));
  for (let depth = 0; frontier.length > 0 && depth <= options.maxDepth; depth++) {
    const next: Value[] = [];
    for (const found of env.readCollection(options.from, filterOf(frontier, options))) {
      if (!visited.add(found.get('_id'))) continue;
      visitValues(found, options.connectFrom, (value) => {
        if (!isNullish(value) && asked.add(value)) next.push(value);
      });
      yield options.depthField
        ? withNestedField(found, options.depthField, Long.fromNumber(depth))
        : found;
    }
    frontier = next;
  }
}

function filterOf(frontier: Value[], options: GraphOptions): Doc {
  const connected = doc([options.connectTo, doc(['$in', frontier])]);
  return options.restriction ? doc(['$and', [options.restriction, connected]]) : connected;
}

const TEXTS = ['from', 'as', 'connectFromField', 'connectToField', 'depthField'];

function readOptions(value: Value): GraphOptions {
  if (!isDoc(value)) {
    throw failedToParse(
      `the $graphLookup stage specification must be an object, but found ${typeName(value)}`,
    );
  }
  const texts = new Map<string, string>();
  let maxDepth = Number.POSITIVE_INFINITY;
  let restriction: Doc | undefined;
  for (const [key, option] of value) {
    if (key === 'startWith') continue;
    if (key === 'maxDepth') maxDepth = readDepth(option);
    else if (key === 'restrictSearchWithMatch') {
      if (!isDoc(option)) {
        throw new DbError(40185, "the 'restrictSearchWithMatch' of $graphLookup must be an object");
      }
      restriction = option;
    } else if (!TEXTS.includes(key)) {
      throw new DbError(40104, `Unknown argument to $graphLookup: ${key}`);
    } else if (typeof option !== 'string') {
      throw new DbError(
        40103,
        `expected string as argument for ${key}, found: ${typeName(option)}`,
      );
    } else texts.set(key, option);
  }
  const missing = ['from', 'as', 'connectFromField', 'connectToField'].some(
    (key) => !texts.has(key),
  );
  if (missing || !value.has('startWith')) {
    throw new DbError(
      40105,
      "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and " +
        "'connectToField' to be specified.",
    );
  }
  splitFieldPath(texts.get('connectToField')!);
  return {
    from: texts.get('from')!,
    startWith: value.get('startWith'),
    connectFrom: splitFieldPath(texts.get('connectFromField')!),
    connectTo: texts.get('connectToField')!,
    as: splitFieldPath(texts.get('as')!),
    maxDepth,
    depthField: texts.has('depthField') ? splitFieldPath(texts.get('depthField')!) : undefined,
    restriction,
  };
}

function readDepth(option: Value): number {
  if (!isNumeric(option)) {
    throw new DbError(
      40100,
      `maxDepth requires a numeric argument, found value of type ${typeName(option)}`,
    );
  }
  const depth = toDouble(option);
  if (depth < 0)
    throw new DbError(40101, `maxDepth requires a nonnegative argument, found: ${depth}`);
  if (Number.isInteger(depth)) return depth;
  throw new DbError(40102, `maxDepth could not be represented as a long long: ${depth}`);
}
