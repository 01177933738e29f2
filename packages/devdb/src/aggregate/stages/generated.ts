import { DbError } from '../../errors.js';
import { isDoc, type Value } from '../../values/value.js';
import type { PipelineEnv, StageDefinition } from '../stage.js';

/** Stages that read no collection; what they give comes from the surroundings. */
export const GENERATED: readonly StageDefinition[] = [
  generated('$indexStats', (value) => {
    if (!isDoc(value) || value.size > 0) {
      throw new DbError(28803, 'The $indexStats stage specification must be an empty object');
    }
  }),
  generated('$collStats', checkCollStats),
  generated('$planCacheStats', (value) => {
    if (!isDoc(value)) throw new DbError(9, '$planCacheStats value must be an object');
  }),
  {
    ...placed(
      '$currentOp',
      "$currentOp must be run against the 'admin' database with {aggregate: 1}",
      ({ database, collection }) => database === 'admin' && collection === null,
    ),
    forDatabase: true,
  },
  {
    ...placed(
      '$listLocalSessions',
      '$listLocalSessions must be run against the database with {aggregate: 1}',
      ({ collection }) => collection === null,
    ),
    forDatabase: true,
  },
  placed(
    '$listSessions',
    '$listSessions may only be run against config.system.sessions',
    ({ database, collection }) => database === 'config' && collection === 'system.sessions',
  ),
  {
    // A pipeline that starts with it is the command's own affair; it never gets here.
    name: '$changeStream',
    first: true,
    forDatabase: true,
    refusedInFacet: true,
    compile(_, { placement, index }) {
      if (placement === '$lookup') {
        throw new DbError(51047, "$changeStream is not allowed within a $lookup's sub-pipeline");
      }
      if (index === 0 && placement === 'command') {
        throw new DbError(40573, 'The $changeStream stage is only supported on replica sets');
      }
      return (source) => source;
    },
  },
  {
    name: '$geoNear',
    first: true,
    refusedInFacet: true,
    compile(value) {
      if (!isDoc(value))
        throw new DbError(10065, 'invalid parameter: expected an object ($geoNear)');
      if (!value.has('near')) {
        throw new DbError(16605, "$geoNear requires a 'near' option as an Array");
      }
      throw new DbError(238, '$geoNear is not supported by this development server');
    },
  },
];

function checkCollStats(value: Value): void {
  if (!isDoc(value)) throw new DbError(40166, '$collStats must take a nested object');
  for (const [option, argument] of value) {
    if (option === 'count') {
      if (!isDoc(argument)) throw new DbError(40480, 'count argument must be an object');
    } else if (['storageStats', 'latencyStats', 'queryExecStats'].includes(option)) {
      throw new DbError(238, `$collStats: ${option} is not supported by this development server`);
    } else throw new DbError(40168, `unrecognized option to $collStats: ${option}`);
  }
}

function generated(name: string, check: (value: Value) => void): StageDefinition {
  return {
    name,
    first: true,
    refusedInFacet: true,
    compile(value, { env }) {
      check(value);
      return () => {
        const documents = env.generate?.(name, value);
        if (documents) return documents;
        throw new DbError(238, `${name} is not supported by this development server`);
      };
    },
  };
}

/** A stage that has its place in one database or collection only (73 elsewhere). */
function placed(
  name: string,
  message: string,
  isPlace: (env: PipelineEnv) => boolean,
): StageDefinition {
  const definition = generated(name, () => {});
  return {
    ...definition,
    compile(value, context) {
      if (!isPlace(context.env)) throw new DbError(73, message);
      return definition.compile(value, context);
    },
  };
}
