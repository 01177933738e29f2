import { compileUpdatePipeline } from '../aggregate/compile-update-pipeline.js';
import { DbError, failedToParse } from '../errors.js';
import type { FilterEnv } from '../query/filter-env.js';
import type { MatchPosition } from '../query/path.js';
import { formatValue } from '../values/format.js';
import { identicalDocs, identicalValues } from '../values/identical.js';
import { equalValues } from '../values/order.js';
import { type Doc, isDoc, Timestamp, type Value } from '../values/value.js';
import { compileArrayFilters } from './array-filters.js';
import { FieldChanges } from './field-changes.js';
import { parseOperators } from './parse-operators.js';
import { checkIdType, checkStorable, MAX_STORED_NESTING, nestingOf } from './storage-rules.js';
import type { UpdateContext } from './update-context.js';
import { applyTree } from './update-tree.js';

/** What the surroundings give to an update. */
export interface UpdateOptions extends FilterEnv {
  readonly arrayFilters?: readonly Value[] | undefined;
  /** Gives the timestamps of `$currentDate` and of empty ones in replacements; default: from `now`. */
  readonly timestamp?: (() => Timestamp) | undefined;
}

/** How an update is applied to one document. */
interface ApplyOptions {
  /** Where the filter matched, for the positional `$`. */
  readonly position: MatchPosition | null;
  /** Whether the document is the seed of an upsert. */
  readonly isInsert: boolean;
}

/** The outcome for one document. `doc` is the given one where nothing was modified. */
interface Applied {
  readonly doc: Doc;
  readonly modified: boolean;
  /** What operators have changed, as change streams tell it; other updates are told by the whole document. */
  readonly description?: Doc;
}

/** A compiled update; it holds no state and may be applied to any number of documents. */
export interface CompiledUpdate {
  readonly kind: 'operators' | 'replacement' | 'pipeline';
  /** Whether the update is a whole document, which no update of many documents takes. */
  readonly isReplacement: boolean;
  /**
   * Applies the update to one document, all of it or nothing: on an error the document is as it
   * was. Refuses a changed `_id` (66) and what may not be stored (52, 53, 55).
   */
  apply(document: Doc, options: ApplyOptions): Applied;
}

/**
 * Compiles an update: operators, a replacement document, or a pipeline. Throws what MongoDB throws
 * before it looks at any document (a wrong form, unknown operators, conflicting paths).
 */
export function compileUpdate(
  update: Doc | readonly Value[],
  options: UpdateOptions,
): CompiledUpdate {
  const timestamp = options.timestamp ?? (() => timestampOf(options.now));
  if (!isDoc(update)) return pipelineUpdate(update, options);
  const first = update.keys().next();
  const isReplacement = first.done === true || !first.value.startsWith('$');
  if (isReplacement) return replacementUpdate(update, timestamp);
  return operatorUpdate(update, options, timestamp);
}

function timestampOf(now: Date): Timestamp {
  return new Timestamp({ t: Math.floor(now.getTime() / 1000), i: 1 });
}

function operatorUpdate(
  update: Doc,
  options: UpdateOptions,
  timestamp: () => Timestamp,
): CompiledUpdate {
  const filters = compileArrayFilters(options.arrayFilters ?? [], options);
  const root = parseOperators(update, filters, options);
  const depth = deepestPath(update);
  return {
    kind: 'operators',
    isReplacement: false,
    apply(document, { position, isInsert }) {
      const context: UpdateContext = {
        root: document,
        isInsert,
        matchedIndex: position?.index,
        now: options.now,
        timestamp,
        modified: false,
        removedPaths: [],
        changes: isInsert ? null : new FieldChanges(),
        appended: 0,
      };
      let result = applyTree(root, context);
      for (const path of context.removedPaths) result = withoutPath(result, path);
      if (!context.modified) return { doc: document, modified: false };
      if (document.has('_id') && !keepsId(document, result)) {
        throw new DbError(
          66,
          "Performing an update on the path '_id' would modify the immutable field '_id'",
        );
      }
      const finished = finish(result, depth);
      return context.changes === null
        ? finished
        : { ...finished, description: context.changes.describe() };
    },
  };
}

/** The deepest that an update can reach or nest by itself; only deep ones need a look at the result. */
function deepestPath(update: Doc): number {
  let deepest = 0;
  for (const operands of update.values()) {
    if (!isDoc(operands)) continue;
    for (const [path, operand] of operands) {
      deepest = Math.max(deepest, path.split('.').length + nestingOf(operand));
    }
  }
  return deepest;
}

function keepsId(before: Doc, after: Doc): boolean {
  return after.has('_id') && identicalValues(before.get('_id'), after.get('_id'));
}

/** The document without the field at a path that holds no array. */
function withoutPath(document: Doc, path: readonly string[]): Doc {
  const [field, ...rest] = path as [string, ...string[]];
  const result = new Map(document);
  if (rest.length === 0) result.delete(field);
  else result.set(field, withoutPath(document.get(field) as Doc, rest));
  return result;
}

function finish(document: Doc, depth: number): Applied {
  if (document.has('_id')) checkIdType(document.get('_id'));
  if (depth > MAX_STORED_NESTING / 2 && nestingOf(document) > MAX_STORED_NESTING) {
    throw new DbError(15, `The document would nest deeper than ${MAX_STORED_NESTING} levels`);
  }
  return { doc: document, modified: true };
}

function replacementUpdate(update: Doc, timestamp: () => Timestamp): CompiledUpdate {
  const depth = nestingOf(update);
  return {
    kind: 'replacement',
    isReplacement: true,
    apply: (document) => replace(document, stamped(update, timestamp), depth),
  };
}

/** An empty timestamp at the top of a stored document stands for the present one. */
function stamped(document: Doc, timestamp: () => Timestamp): Doc {
  const isEmpty = (value: Value) => value instanceof Timestamp && value.isZero();
  if (![...document.values()].some(isEmpty)) return document;
  return new Map([...document].map(([key, value]) => [key, isEmpty(value) ? timestamp() : value]));
}

function pipelineUpdate(pipeline: readonly Value[], options: UpdateOptions): CompiledUpdate {
  if (options.arrayFilters !== undefined) {
    throw failedToParse('arrayFilters may not be specified for pipeline-syle updates');
  }
  const compiled = compileUpdatePipeline(pipeline, options);
  return {
    kind: 'pipeline',
    isReplacement: false,
    apply(document) {
      const result = compiled.apply(document);
      return replace(document, result, MAX_STORED_NESTING);
    },
  };
}

/** Puts a whole document in the place of another one, which keeps its `_id` and has it first. */
function replace(before: Doc, replacement: Doc, depth: number): Applied {
  for (const name of replacement.keys()) {
    if (!name.startsWith('$')) continue;
    throw new DbError(
      52,
      `The dollar ($) prefixed field '${name}' in '${name}' is not valid for storage.`,
    );
  }
  for (const [name, value] of replacement) checkStorable(value, name);
  // As in the server, leaving out an equal `_id` counts as a change, although nothing comes of it.
  if (identicalDocs(before, replacement)) return { doc: before, modified: false };
  return finish(withIdOf(before, replacement), depth);
}

function withIdOf(before: Doc, replacement: Doc): Doc {
  if (!replacement.has('_id')) {
    return before.has('_id') ? new Map([['_id', before.get('_id')], ...replacement]) : replacement;
  }
  const id = replacement.get('_id');
  checkIdType(id);
  if (before.has('_id') && !equalValues(before.get('_id'), id)) {
    throw new DbError(
      66,
      `After applying the update, the (immutable) field '_id' was found to have been altered to _id: ${formatValue(id)}`,
    );
  }
  if (replacement.keys().next().value === '_id') return replacement;
  return new Map<string, Value>([['_id', id], ...replacement]);
}
