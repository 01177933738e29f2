import { badValue, DbError, typeMismatch } from '../../errors.js';
import { compileExpression } from '../../expression/compile-expression.js';
import { isNullish, orNull } from '../../expression/expression.js';
import { checkVariableName, splitFieldPath } from '../../expression/field-path.js';
import { equalValues } from '../../values/order.js';
import { typeName } from '../../values/type-names.js';
import { type Doc, doc, isDoc, type Value } from '../../values/value.js';
import { compileUpdatePipeline } from '../compile-update-pipeline.js';
import { copyDoc, nestedField } from '../nested-field.js';
import type { MergeTarget, MergeWrite, OutputContext, OutputDefinition } from './output.js';

/** `$merge`: the result is merged into a collection, document by document. */
export const MERGE: OutputDefinition = { name: '$merge', compile: compileMerge };

type WhenMatched = (document: Doc, existing: Doc) => MergeWrite | null;
type WhenNotMatched = 'insert' | 'discard' | 'fail';

const KNOWN = ['into', 'on', 'let', 'whenMatched', 'whenNotMatched'];
const NOT_MATCHED: readonly string[] = ['insert', 'discard', 'fail'];

function compileMerge(value: Value, context: OutputContext): MergeTarget {
  const options = isDoc(value) ? value : doc(['into', value]);
  if (!isDoc(value) && typeof value !== 'string') {
    throw typeMismatch(`$merge requires a string or object argument, but found ${typeName(value)}`);
  }
  for (const key of options.keys()) {
    if (!KNOWN.includes(key)) {
      throw new DbError(40415, `BSON field '$merge.${key}' is an unknown field.`);
    }
  }
  if (!options.has('into')) {
    throw new DbError(40414, "BSON field '$merge.into' is missing but a required field");
  }
  const { database, collection } = readTarget(options.get('into'), context.env.database);
  const whenNotMatched = readNotMatched(options);
  const whenMatched = compileMatched(options, whenNotMatched, context);
  const on = readOn(options);
  if (database === context.env.database && collection === context.env.collection) {
    throw new DbError(
      51188,
      '$merge is not supported when the output collection is the same as the aggregation collection',
    );
  }
  const byId = on.length === 1 && on[0] === '_id';
  if (!byId && !context.isUniqueKey(collection, on)) {
    throw new DbError(51183, 'Cannot find index to verify that join fields will be unique');
  }
  return {
    kind: 'merge',
    database,
    collection,
    on,
    filterFor: (document) => matchingFilter(document, on),
    decide(document, existing) {
      if (existing) return whenMatched(document, existing);
      return notMatched(document, whenNotMatched);
    },
  };
}

function readTarget(into: Value, database: string): { database: string; collection: string } {
  if (typeof into === 'string') return { database, collection: checkName(into) };
  if (!isDoc(into)) {
    throw typeMismatch(`$merge 'into' field must be a string or an object, not ${typeName(into)}`);
  }
  for (const key of into.keys()) {
    if (key !== 'db' && key !== 'coll') {
      throw new DbError(40415, `BSON field 'into.${key}' is an unknown field.`);
    }
  }
  const db = into.get('db');
  const coll = into.get('coll');
  if (coll === undefined) {
    throw new DbError(40414, "BSON field 'into.coll' is missing but a required field");
  }
  if (typeof coll !== 'string' || (db !== undefined && typeof db !== 'string')) {
    throw typeMismatch("$merge 'into' takes text for 'db' and 'coll'");
  }
  return { database: db ?? database, collection: checkName(coll) };
}

function checkName(collection: string): string {
  if (collection !== '' && !collection.includes('$') && !collection.includes('\0')) {
    return collection;
  }
  throw new DbError(73, `Invalid $merge target namespace: ${collection}`);
}

function readNotMatched(options: Doc): WhenNotMatched {
  if (!options.has('whenNotMatched')) return 'insert';
  const mode = options.get('whenNotMatched');
  if (typeof mode !== 'string') {
    throw typeMismatch(`$merge.whenNotMatched must be a string, found ${typeName(mode)}`);
  }
  if (NOT_MATCHED.includes(mode)) return mode as WhenNotMatched;
  throw badValue(`Enumeration value '${mode}' for field 'whenNotMatched' is not a valid value.`);
}

function compileMatched(
  options: Doc,
  whenNotMatched: WhenNotMatched,
  context: OutputContext,
): WhenMatched {
  const mode = options.has('whenMatched') ? options.get('whenMatched') : 'merge';
  if (Array.isArray(mode)) return byPipeline(mode, options, context);
  if (options.has('let')) {
    throw new DbError(
      51199,
      "Cannot use 'let' variables with 'whenMatched' mode that is no pipeline",
    );
  }
  if (typeof mode !== 'string') {
    throw new DbError(
      51191,
      `$merge 'whenMatched' field must be either a string or an array, but found ${typeName(mode)}`,
    );
  }
  const write = MODES[mode];
  if (!write) {
    throw badValue(`Enumeration value '${mode}' for field 'whenMatched' is not a valid value.`);
  }
  if ((mode === 'fail' || mode === 'keepExisting') && whenNotMatched !== 'insert') {
    throw new DbError(
      51181,
      `Combination of whenMatched: ${mode} and whenNotMatched: ${whenNotMatched} is not supported`,
    );
  }
  return write;
}

const MODES: Readonly<Record<string, WhenMatched>> = {
  replace: (document, existing) => replacement(document, existing),
  keepExisting: () => null,
  merge(document, existing) {
    const merged = copyDoc(existing);
    for (const [key, value] of document) merged.set(key, value);
    return { ...replacement(merged, existing), kind: 'merge' };
  },
  fail: (document, existing) => ({ kind: 'duplicate', existing, document }),
};

/** A document in the place of another one; one without an `_id` takes over the one that is there. */
function replacement(
  document: Doc,
  existing: Doc,
): Extract<MergeWrite, { readonly kind: 'replace' }> {
  const id = existing.get('_id');
  if (!document.has('_id')) {
    return { kind: 'replace', existing, document: new Map([['_id', id], ...document]) };
  }
  if (equalValues(document.get('_id'), id)) return { kind: 'replace', existing, document };
  throw new DbError(
    66,
    '$merge failed to update the matching document, did you attempt to modify the _id or the shard key?',
  );
}

/** `whenMatched: [stages]` changes the existing document; `$$new` is the pipeline's one. */
function byPipeline(stages: readonly Value[], options: Doc, context: OutputContext): WhenMatched {
  const given = options.has('let') ? options.get('let') : doc(['new', '$$ROOT']);
  if (!isDoc(given)) throw typeMismatch("$merge 'let' must be an object");
  const bindings: [string, (document: Doc) => Value][] = [];
  for (const [name, value] of given) {
    if (name !== 'new') checkVariableName(name);
    const { evaluate } = compileExpression(value, context.env);
    bindings.push([name, (document) => orNull(evaluate(document))]);
  }
  if (!given.has('new')) bindings.push(['new', (document) => document]);
  else if (given.get('new') !== '$$ROOT') {
    throw new DbError(51273, "'let' may not define a value for the reserved 'new' variable");
  }
  const compile = (document: Doc) => {
    const variables = new Map(bindings.map(([name, read]) => [name, read(document)]));
    return compileUpdatePipeline(stages, { ...context.env, variables });
  };
  // Compiled once with nothing in the variables, so that a wrong pipeline fails at once.
  compile(new Map());
  return (document, existing) => replacement(compile(document).apply(existing), existing);
}

function notMatched(document: Doc, mode: WhenNotMatched): MergeWrite | null {
  if (mode === 'discard') return null;
  return mode === 'fail' ? { kind: 'unmatched' } : { kind: 'insert', document };
}

function readOn(options: Doc): string[] {
  if (!options.has('on')) return ['_id'];
  const on = options.get('on');
  if (typeof on === 'string') return checkOn([on]);
  if (!Array.isArray(on)) {
    throw new DbError(
      51186,
      `$merge 'on' field must be either a string or an array of strings, but found ${typeName(on)}`,
    );
  }
  if (on.length === 0) {
    throw new DbError(
      51187,
      "If explicitly specifying $merge 'on', must include at least one field",
    );
  }
  return checkOn(on);
}

function checkOn(on: readonly Value[]): string[] {
  const fields: string[] = [];
  for (const field of on) {
    if (typeof field !== 'string') {
      throw new DbError(
        51134,
        `$merge 'on' array elements must be strings, found ${typeName(field)}`,
      );
    }
    splitFieldPath(field);
    if (fields.includes(field)) {
      throw new DbError(31465, `Found a duplicate field in $merge.on list: '${field}'`);
    }
    fields.push(field);
  }
  return fields;
}

function matchingFilter(document: Doc, on: readonly string[]): Doc {
  const filter: Doc = new Map();
  for (const field of on) {
    const value = nestedField(document, field.split('.'));
    if (isNullish(value) || Array.isArray(value)) {
      if (field === '_id' && !document.has('_id')) return doc(['_id', doc(['$in', []])]);
      throw new DbError(
        51132,
        `$merge write error: 'on' field '${field}' cannot be missing, null, undefined or an array`,
      );
    }
    filter.set(field, doc(['$eq', value]));
  }
  return filter;
}
