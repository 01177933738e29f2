import { DbError } from '../../errors.js';
import type { Scope } from '../../expression/scope.js';
import { doc, int32, isDoc, isNumeric, type Value } from '../../values/value.js';
import type { StageDefinition } from '../stage.js';
import { stageSorter } from '../stages/sort.js';
import { type AccumulatedField, compileAccumulated } from './accumulated-fields.js';
import { byFields, byValue, type GroupKey, groupStage } from './group-by.js';

/** `$group`: one document for each distinct `_id`, with accumulated fields. */
export const GROUP: StageDefinition = {
  name: '$group',
  compile(value, { scope }) {
    if (!isDoc(value)) {
      throw new DbError(15947, "a group's fields must be specified in an object");
    }
    let key: GroupKey | undefined;
    const fields: AccumulatedField[] = [];
    for (const [name, operand] of value) {
      if (name === '_id') key = compileGroupKey(operand, scope);
      else fields.push(compileAccumulated(name, operand, scope));
    }
    if (!key) throw new DbError(15955, 'a group specification must include an _id');
    return groupStage(key, fields);
  },
};

/**
 * The `_id` of a group: an operator, a path, a document of expressions, or a constant. An array is
 * a constant, whatever is in it (as in MongoDB 4.2 and 4.4).
 */
function compileGroupKey(value: Value, scope: Scope): GroupKey {
  if (isDoc(value) && value.size > 0) {
    const first = value.keys().next().value as string;
    if (first.startsWith('$')) return byValue(scope.compile(value).evaluate);
    return byFields(
      [...value].map(([name, operand]) => {
        if (isNumeric(operand) || typeof operand === 'boolean') {
          throw new DbError(17390, '$group does not support inclusion-style expressions');
        }
        return [name, scope.compile(operand).evaluate] as const;
      }),
    );
  }
  if (typeof value === 'string') return byValue(scope.compile(value).evaluate);
  return byValue(() => value);
}

const COUNT_ONE = doc(['$sum', int32(1)]);

/** `$sortByCount`: the distinct values of an expression and how often each came, most first. */
export const SORT_BY_COUNT: StageDefinition = {
  name: '$sortByCount',
  compile(value, { scope }) {
    checkCounted(value);
    const key = byValue(scope.compile(value).evaluate);
    const group = groupStage(key, [compileAccumulated('count', COUNT_ONE, scope)]);
    const sorter = stageSorter(doc(['count', int32(-1)]));
    return (source) => sorter.sort([...group(source)]);
  },
};

function checkCounted(value: Value): void {
  const requirement =
    'the sortByCount field must be defined as a $-prefixed path or an expression inside an object';
  if (isDoc(value)) {
    if (!value.keys().next().value?.startsWith('$')) throw new DbError(40147, requirement);
  } else if (typeof value === 'string') {
    if (!value.startsWith('$')) throw new DbError(40148, requirement);
  } else {
    throw new DbError(40149, 'the sortByCount field must be specified as a string or as an object');
  }
}
