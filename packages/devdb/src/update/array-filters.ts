import { badValue, DbError, failedToParse, typeMismatch } from '../errors.js';
import { compileFilter } from '../query/compile-filter.js';
import type { FilterEnv } from '../query/filter-env.js';
import { typeName } from '../values/type-names.js';
import { type Doc, isDoc, type Value } from '../values/value.js';

/** The tests of the elements that `$[identifier]` stands for, by identifier. */
export type ArrayFilters = ReadonlyMap<string, (element: Value) => boolean>;

/**
 * Compiles `arrayFilters`: each one is a filter on one top-level name, which is the identifier.
 * Throws FailedToParse (9) for two names in one filter or two filters for one name.
 */
export function compileArrayFilters(filters: readonly Value[], env: FilterEnv): ArrayFilters {
  const compiled = new Map<string, (element: Value) => boolean>();
  for (const [index, filter] of filters.entries()) {
    if (!isDoc(filter)) {
      throw typeMismatch(
        `BSON field 'update.updates.arrayFilters.${index}' is the wrong type ` +
          `'${typeName(filter)}', expected type 'object'`,
      );
    }
    const matcher = compileOne(filter, env);
    const identifier = identifierOf(filter);
    if (identifier === null) {
      throw failedToParse(
        'Cannot use an expression without a top-level field name in arrayFilters',
      );
    }
    if (compiled.has(identifier)) {
      throw failedToParse(
        `Found multiple array filters with the same top-level field name ${identifier}`,
      );
    }
    compiled.set(identifier, (element) => matcher.matches(new Map([[identifier, element]])));
  }
  return compiled;
}

function compileOne(filter: Doc, env: FilterEnv) {
  try {
    return compileFilter(filter, { ...env, exprRefusedIn: 'arrayFilters' });
  } catch (error) {
    if (!(error instanceof DbError)) throw error;
    throw new DbError(error.code, `Error parsing array filter :: caused by :: ${error.message}`);
  }
}

function identifierOf(filter: Doc): string | null {
  const names = new Set(topLevelNames(filter));
  const [first, second] = names;
  if (first === undefined) return null;
  if (second !== undefined) {
    throw failedToParse(
      'Error parsing array filter :: caused by :: Expected a single top-level field name, ' +
        `found '${first}' and '${second}'`,
    );
  }
  if (!/^[a-z][a-zA-Z0-9]*$/.test(first)) {
    throw badValue(
      'Error parsing array filter :: caused by :: The top-level field name must be an ' +
        `alphanumeric string beginning with a lowercase letter, found '${first}'`,
    );
  }
  return first;
}

function topLevelNames(filter: Doc): string[] {
  return [...filter].flatMap(([key, operand]) => {
    if (!key.startsWith('$')) return [key.split('.')[0]!];
    return Array.isArray(operand) ? operand.filter(isDoc).flatMap(topLevelNames) : [];
  });
}
