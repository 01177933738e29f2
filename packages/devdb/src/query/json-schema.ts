import { badValue, DbError, failedToParse, typeMismatch } from '../errors.js';
import { toDouble } from '../values/numbers.js';
import { equalValues } from '../values/order.js';
import { toRegExp } from '../values/pattern.js';
import { typeName } from '../values/type-names.js';
import { type Doc, isDoc, isNumeric, MISSING, type Missing, type Value } from '../values/value.js';
import type { FilterNode } from './filter-node.js';
import type { Predicate } from './path.js';
import { typeSet } from './type-test.js';

/**
 * Compiles `$jsonSchema` (draft 4 as MongoDB takes it): a keyword on a type that the value does
 * not have holds. An unknown keyword is refused with FailedToParse (9).
 */
export function compileJsonSchema(schema: Doc): FilterNode {
  const test = compileSchema(schema);
  return (container) => container instanceof Map && test(container);
}

function compileSchema(schema: Doc): Predicate {
  const tests: Predicate[] = [];
  for (const [keyword, operand] of schema) {
    const test = compileKeyword(keyword, operand, schema);
    if (test) tests.push(test);
  }
  return (value) => tests.every((test) => test(value));
}

function compileKeyword(keyword: string, operand: Value, schema: Doc): Predicate | null {
  switch (keyword) {
    case 'title':
    case 'description':
      return null;
    case 'bsonType':
    case 'type':
      return typeKeyword(keyword, operand);
    case 'required':
      return requiredKeyword(operand);
    case 'properties':
      return propertiesKeyword(documentOf(keyword, operand));
    case 'additionalProperties':
      return additionalProperties(operand, schema);
    case 'patternProperties':
      return patternProperties(documentOf(keyword, operand));
    case 'minProperties':
    case 'maxProperties':
      return bound(keyword, operand, (value) => (isDoc(value) ? value.size : null));
    case 'minimum':
    case 'maximum':
      return limit(keyword, operand, schema);
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return null;
    case 'multipleOf': {
      const factor = numberOf(keyword, operand);
      return (value) => !isNumeric(value) || toDouble(value) % factor === 0;
    }
    case 'minLength':
    case 'maxLength':
      return bound(keyword, operand, (value) =>
        typeof value === 'string' ? [...value].length : null,
      );
    case 'pattern': {
      if (typeof operand !== 'string') throw wrongType(keyword, 'a string');
      const regExp = toRegExp(operand, '');
      return (value) => typeof value !== 'string' || regExp.test(value);
    }
    case 'minItems':
    case 'maxItems':
      return bound(keyword, operand, (value) => (Array.isArray(value) ? value.length : null));
    case 'uniqueItems':
      return operand === true ? uniqueItems : null;
    case 'items':
      return itemsKeyword(operand, schema.get('additionalItems'));
    case 'additionalItems':
      return null;
    case 'enum': {
      const values = arrayOf(keyword, operand);
      return (value) =>
        value === MISSING || values.some((candidate) => equalValues(candidate, value));
    }
    case 'allOf': {
      const tests = schemasOf(keyword, operand);
      return (value) => tests.every((test) => test(value));
    }
    case 'anyOf': {
      const tests = schemasOf(keyword, operand);
      return (value) => tests.some((test) => test(value));
    }
    case 'oneOf': {
      const tests = schemasOf(keyword, operand);
      return (value) => tests.filter((test) => test(value)).length === 1;
    }
    case 'not': {
      const test = compileSchema(documentOf(keyword, operand));
      return (value) => !test(value);
    }
    case 'dependencies':
      return dependencies(documentOf(keyword, operand));
    default:
      throw failedToParse(`Unknown $jsonSchema keyword: ${keyword}`);
  }
}

function wrongType(keyword: string, expected: string): DbError {
  return typeMismatch(`$jsonSchema keyword '${keyword}' must be ${expected}`);
}

function documentOf(keyword: string, operand: Value): Doc {
  if (!isDoc(operand)) throw wrongType(keyword, 'an object');
  return operand;
}

function arrayOf(keyword: string, operand: Value): readonly Value[] {
  if (!Array.isArray(operand)) throw wrongType(keyword, 'an array');
  if (operand.length === 0) throw failedToParse(`$jsonSchema keyword '${keyword}' is empty`);
  return operand;
}

function numberOf(keyword: string, operand: Value): number {
  if (!isNumeric(operand)) throw wrongType(keyword, 'a number');
  return toDouble(operand);
}

function schemasOf(keyword: string, operand: Value): Predicate[] {
  return arrayOf(keyword, operand).map((schema) => compileSchema(documentOf(keyword, schema)));
}

/** The names that JSON has for types; MongoDB takes no `integer` here. */
const JSON_TYPES: Readonly<Record<string, string>> = {
  boolean: 'bool',
  number: 'number',
  string: 'string',
  object: 'object',
  array: 'array',
  null: 'null',
};

function typeKeyword(keyword: string, operand: Value): Predicate {
  const names = Array.isArray(operand) ? operand : [operand];
  const aliases = names.map((name) => {
    if (typeof name !== 'string') throw wrongType(keyword, 'a string or an array of strings');
    if (keyword === 'bsonType') return name;
    const alias = JSON_TYPES[name];
    if (alias === undefined) throw badValue(`Unknown type name alias: ${name}`);
    return alias;
  });
  const types = typeSet(aliases, keyword);
  return (value) => value === MISSING || types.has(typeName(value));
}

function requiredKeyword(operand: Value): Predicate {
  const names = arrayOf('required', operand).map((name) => {
    if (typeof name !== 'string') throw wrongType('required', 'an array of strings');
    return name;
  });
  return (value) => !isDoc(value) || names.every((name) => value.has(name));
}

function propertiesKeyword(operand: Doc): Predicate {
  const tests = [...operand].map(
    ([name, schema]) => [name, compileSchema(documentOf(name, schema))] as const,
  );
  return (value) =>
    !isDoc(value) || tests.every(([name, test]) => !value.has(name) || test(value.get(name)));
}

function patternProperties(operand: Doc): Predicate {
  const tests = [...operand].map(
    ([name, schema]) => [toRegExp(name, ''), compileSchema(documentOf(name, schema))] as const,
  );
  return (value) =>
    !isDoc(value) ||
    [...value].every(([key, field]) =>
      tests.every(([regExp, test]) => !regExp.test(key) || test(field)),
    );
}

function additionalProperties(operand: Value, schema: Doc): Predicate | null {
  if (operand === true) return null;
  const test =
    operand === false ? () => false : compileSchema(documentOf('additionalProperties', operand));
  const properties = schema.get('properties');
  const patterns = schema.get('patternProperties');
  const names = new Set(isDoc(properties) ? properties.keys() : []);
  const regExps = isDoc(patterns) ? [...patterns.keys()].map((name) => toRegExp(name, '')) : [];
  return (value) =>
    !isDoc(value) ||
    [...value].every(
      ([key, field]) => names.has(key) || regExps.some((regExp) => regExp.test(key)) || test(field),
    );
}

function bound(
  keyword: string,
  operand: Value,
  measure: (value: Value | Missing) => number | null,
): Predicate {
  const wanted = numberOf(keyword, operand);
  const isMin = keyword.startsWith('min');
  return (value) => {
    const size = measure(value);
    return size === null || (isMin ? size >= wanted : size <= wanted);
  };
}

function limit(keyword: string, operand: Value, schema: Doc): Predicate {
  const wanted = numberOf(keyword, operand);
  if (keyword === 'minimum') {
    const exclusive = schema.get('exclusiveMinimum') === true;
    return (value) =>
      !isNumeric(value) || (exclusive ? toDouble(value) > wanted : toDouble(value) >= wanted);
  }
  const exclusive = schema.get('exclusiveMaximum') === true;
  return (value) =>
    !isNumeric(value) || (exclusive ? toDouble(value) < wanted : toDouble(value) <= wanted);
}

function uniqueItems(value: Value | Missing): boolean {
  if (!Array.isArray(value)) return true;
  return value.every((item, index) =>
    value.slice(index + 1).every((other) => !equalValues(item, other)),
  );
}

function itemsKeyword(operand: Value, additional: Value): Predicate {
  if (isDoc(operand)) {
    const test = compileSchema(operand);
    return (value) => !Array.isArray(value) || value.every((item) => test(item));
  }
  const tests = schemasOf('items', operand);
  const rest: Predicate =
    additional === false ? () => false : isDoc(additional) ? compileSchema(additional) : () => true;
  return (value) =>
    !Array.isArray(value) || value.every((item, index) => (tests[index] ?? rest)(item));
}

function dependencies(operand: Doc): Predicate {
  const tests = [...operand].map(([name, needed]) => {
    const test = isDoc(needed) ? compileSchema(needed) : requiredKeyword(needed);
    return [name, test] as const;
  });
  return (value) => !isDoc(value) || tests.every(([name, test]) => !value.has(name) || test(value));
}
