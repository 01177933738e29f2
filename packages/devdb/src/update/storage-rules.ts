import { DbError } from '../errors.js';
import { typeName } from '../values/type-names.js';
import { BSONRegExp, type Doc, type Value } from '../values/value.js';

/** How deep a stored document may nest. */
export const MAX_STORED_NESTING = 100;

/** Refuses (52, 55) documents inside of a value that have a field starting with `$`, except DBRefs. */
export function checkStorable(value: Value, path: string): void {
  if (Array.isArray(value)) {
    for (const element of value) checkStorable(element, path);
  } else if (value instanceof Map) {
    for (const [name, field] of value) {
      if (name.startsWith('$')) checkDollarName(value, name, path);
      checkStorable(field, `${path}.${name}`);
    }
  }
}

/** Refuses a field that starts with `$` and is not in its place in a DBRef (`$ref`, `$id`, `$db`). */
export function checkDollarName(document: Doc, name: string, path = ''): void {
  const names = [...document.keys()];
  const at = names.indexOf(name);
  if (name === '$db') {
    if (typeof document.get('$db') !== 'string') {
      throw invalidReference('The DBRef $db field must be a String');
    }
    if (names[at - 1] !== '$id') {
      throw invalidReference('Found $db field without a $id before it, which is invalid.');
    }
  } else if (name === '$id') {
    if (names[at - 1] !== '$ref') {
      throw invalidReference('Found $id field without a $ref before it, which is invalid.');
    }
  } else if (name === '$ref') {
    if (typeof document.get('$ref') !== 'string') {
      throw invalidReference('The DBRef $ref field must be a String');
    }
    if (names[at + 1] !== '$id') {
      throw invalidReference('The DBRef $ref field must be followed by a $id field');
    }
  } else {
    const full = path === '' ? name : `${path}.${name}`;
    throw new DbError(
      52,
      `The dollar ($) prefixed field '${name}' in '${full}' is not valid for storage.`,
    );
  }
}

function invalidReference(message: string): DbError {
  return new DbError(55, message);
}

/** Refuses (53) values that no document may have as its `_id`. */
export function checkIdType(id: Value): void {
  if (Array.isArray(id) || id === undefined || id instanceof BSONRegExp) {
    throw new DbError(53, `The '_id' value cannot be of type ${typeName(id)}`);
  }
}

/** Refuses (52, 53, 55) what an upsert has made of its filter and update, if it may not be stored. */
export function checkInsertable(document: Doc): void {
  checkIdType(document.get('_id'));
  for (const [name, value] of document) {
    if (name.startsWith('$')) checkDollarName(document, name);
    checkStorable(value, name);
  }
}

/**
 * Refuses (52) fields that start with `$` at any level of an `_id` that a client inserts. A DBRef is taken, and what its `$id`
 * holds is not looked at. Elsewhere in an inserted document such names are stored.
 */
export function checkIdNames(value: Value): void {
  if (Array.isArray(value)) {
    for (const element of value) checkIdNames(element);
  } else if (value instanceof Map) {
    for (const name of [...value.keys()].slice(referenceFields(value))) {
      if (name.startsWith('$')) throw new DbError(52, `${name} is not valid for storage.`);
      checkIdNames(value.get(name));
    }
  }
}

/** How many fields in front are those of a DBRef. */
function referenceFields(document: Doc): number {
  const [first, second, third] = document.keys();
  if (first !== '$ref' || second !== '$id' || typeof document.get('$ref') !== 'string') return 0;
  return third === '$db' && typeof document.get('$db') === 'string' ? 3 : 2;
}

/** How many levels of documents and arrays a value has. */
export function nestingOf(value: Value): number {
  if (!(value instanceof Map) && !Array.isArray(value)) return 0;
  let deepest = 0;
  for (const inner of value.values()) deepest = Math.max(deepest, nestingOf(inner));
  return deepest + 1;
}
