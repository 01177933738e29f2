import { badValue, DbError } from '../../errors.js';
import { compileFilter } from '../../query/compile-filter.js';
import { type Doc, isDoc, type Value } from '../../values/value.js';
import type { StageContext, StageDefinition } from '../stage.js';

/** `$match`: the documents for which a filter holds. */
export const MATCH: StageDefinition = {
  name: '$match',
  compile(value, context) {
    const { matches } = compileFilter(matchFilter(value), filterEnv(context));
    return function* match(source) {
      for (const document of source) if (matches(document)) yield document;
    };
  },
};

/** The filter of a `$match`; one that is no document is refused (15959), `$where` too (2). */
export function matchFilter(value: Value): Doc {
  if (!isDoc(value)) {
    throw new DbError(15959, 'the match filter must be an expression in an object');
  }
  for (const key of value.keys()) {
    if (key === '$where' || key === '$near' || key === '$text') {
      throw badValue(`${key} is not allowed in this context`);
    }
  }
  return value;
}

/** What a filter inside of a pipeline sees: the variables of the stage. */
export function filterEnv({ env, scope }: StageContext) {
  return { now: env.now, clusterTime: env.clusterTime, variables: env.variables, scope };
}
