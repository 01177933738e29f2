import { type Evaluated, orNull } from '../../expression/expression.js';
import { encodeKey, encodeKeyPart } from '../../values/index-key.js';
import { type Doc, MISSING, type Value } from '../../values/value.js';
import type { Stage } from '../stage.js';
import { type AccumulatedField, Group } from './accumulated-fields.js';

/** How a document's group is found. */
export interface GroupKey {
  /** Text that is equal for documents of one group. */
  keyOf(document: Doc): { key: string; id: () => Value };
}

/** Groups by one value; documents without it are in the group of null. */
export function byValue(evaluate: (document: Doc) => Evaluated): GroupKey {
  return {
    keyOf(document) {
      const value = orNull(evaluate(document));
      return { key: encodeKeyPart(value), id: () => value };
    },
  };
}

/** Groups by a document of several values, each of which may be absent, which is not null. */
export function byFields(
  fields: readonly (readonly [string, (document: Doc) => Evaluated])[],
): GroupKey {
  return {
    keyOf(document) {
      const values = fields.map(([, evaluate]) => evaluate(document));
      return {
        key: encodeKey(values, []),
        id() {
          const id: Doc = new Map();
          fields.forEach(([name], index) => {
            const value = values[index]!;
            if (value !== MISSING) id.set(name, value);
          });
          return id;
        },
      };
    },
  };
}

/**
 * Collects groups in the order in which they are first met. Of values that are equal but of
 * different types, such as 1 and 1.0, the first one met names the group.
 */
export function groupStage(groupKey: GroupKey, fields: readonly AccumulatedField[]): Stage {
  return function* group(source) {
    const groups = new Map<string, { id: Value; group: Group }>();
    for (const document of source) {
      const { key, id } = groupKey.keyOf(document);
      let found = groups.get(key);
      if (!found) {
        found = { id: id(), group: new Group(fields) };
        groups.set(key, found);
      }
      found.group.add(document);
    }
    for (const { id, group: finished } of groups.values()) yield finished.finish(id);
  };
}
