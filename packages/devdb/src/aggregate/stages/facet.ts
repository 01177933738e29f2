import { badValue, DbError } from '../../errors.js';
import { checkFieldName } from '../../expression/field-path.js';
import { formatValue } from '../../values/format.js';
import { typeName } from '../../values/type-names.js';
import { type Doc, isDoc } from '../../values/value.js';
import type { StageDefinition } from '../stage.js';

/** `$facet`: several pipelines over the same documents, each giving an array. */
export const FACET: StageDefinition = {
  name: '$facet',
  refusedInFacet: true,
  compile(value, context) {
    if (!isDoc(value) || value.size === 0) {
      throw new DbError(
        40169,
        `the $facet specification must be a non-empty object, but found: ${formatValue(value)}`,
      );
    }
    const facets = [...value].map(([name, pipeline]) => {
      checkFieldName(name);
      if (!Array.isArray(pipeline)) {
        throw new DbError(
          40170,
          `arguments to $facet must be arrays, ${name} is type ${typeName(pipeline)}`,
        );
      }
      return { name, pipeline };
    });
    const stages = facets.map(({ name, pipeline }) => {
      if (pipeline.length === 0) throw badValue('sub-pipeline in $facet stage cannot be empty');
      return { name, run: context.compileInner(pipeline, context.scope, '$facet') };
    });
    return function* facet(source) {
      const documents = [...source];
      const result: Doc = new Map();
      for (const { name, run } of stages) result.set(name, [...run(documents)]);
      yield result;
    };
  },
};
