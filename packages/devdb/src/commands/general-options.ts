/** The options that any command may carry: read concern, write concern, read preference, time limit. */
import { badValue, DbError, failedToParse, typeMismatch } from '../errors.js';
import { toDouble } from '../values/numbers.js';
import { typeName } from '../values/type-names.js';
import { type Doc, doc, int32, isDoc, isNumeric, Timestamp, type Value } from '../values/value.js';

const READ_PREFERENCES: ReadonlySet<Value> = new Set([
  'primary',
  'primaryPreferred',
  'secondary',
  'secondaryPreferred',
  'nearest',
]);

/** Throws 9 for a read preference of no known mode. There is one node: it is not needed further. */
export function checkReadPreference(body: Doc): void {
  const preference = body.get('$readPreference');
  if (preference === undefined) return;
  if (!isDoc(preference)) {
    throw typeMismatch('$readPreference has incorrect type: expected object');
  }
  const mode = preference.get('mode');
  if (!READ_PREFERENCES.has(mode)) {
    throw failedToParse(
      `Could not parse $readPreference mode '${String(mode)}'. Only the modes 'primary', 'primaryPreferred', 'secondary', 'secondaryPreferred', and 'nearest' are supported.`,
    );
  }
}

const READ_CONCERN_LEVELS: ReadonlySet<Value> = new Set([
  'local',
  'majority',
  'linearizable',
  'available',
  'snapshot',
]);

const READ_CONCERN_FIELDS: ReadonlySet<string> = new Set([
  'level',
  'afterClusterTime',
  'afterOpTime',
  'atClusterTime',
  'provenance',
]);

/**
 * The level of a command's read concern; undefined where it names none. Throws for one that is not allowed there, and for a
 * cluster time after `latest`: what is to be read would be yet to come.
 */
export function readConcernLevel(
  body: Doc,
  startsTransaction: boolean,
  latest: () => Timestamp,
): string | undefined {
  const concern = body.get('readConcern');
  if (concern === undefined) return undefined;
  if (!isDoc(concern)) throw failedToParse('readConcern field should be an object');
  for (const field of concern.keys()) {
    if (!READ_CONCERN_FIELDS.has(field)) {
      throw new DbError(72, `Unrecognized option in readConcern: ${field}`);
    }
  }
  const level = concern.get('level');
  checkAtTime(concern);
  checkAfterTime(concern, body, latest);
  if (level === undefined) return undefined;
  if (!READ_CONCERN_LEVELS.has(level)) {
    throw failedToParse(
      "readConcern.level must be either 'local', 'majority', 'linearizable', 'available', or 'snapshot'",
    );
  }
  if (level === 'snapshot' && !startsTransaction) {
    throw new DbError(
      72,
      'readConcern level snapshot is only valid for the first transaction operation',
    );
  }
  if (startsTransaction && (level === 'linearizable' || level === 'available')) {
    throw new DbError(
      72,
      "The readConcern level must be either 'local' or 'majority' in order to upconvert the readConcern level to 'snapshot'",
    );
  }
  return level as string;
}

/** A read of the past needs kept history, of which there is none: refused (238) where MongoDB takes it. */
function checkAtTime(concern: Doc): void {
  const time = timeField(concern, 'atClusterTime');
  if (time === undefined) return;
  if (concern.get('level') !== 'snapshot') {
    throw new DbError(72, 'atClusterTime field can be set only if level is equal to snapshot');
  }
  throw new DbError(238, 'atClusterTime is not supported by this development server');
}

function checkAfterTime(concern: Doc, body: Doc, latest: () => Timestamp): void {
  const time = timeField(concern, 'afterClusterTime');
  if (time === undefined) return;
  const level = concern.get('level');
  if (level === 'available' || level === 'linearizable') {
    throw new DbError(
      72,
      'afterClusterTime field can be set only if level is equal to majority, local, or snapshot',
    );
  }
  // Clients bring cluster times along: that of another one, or of before a restart, is no time to come.
  const gossip = body.get('$clusterTime');
  const told = isDoc(gossip) ? gossip.get('clusterTime') : undefined;
  if (told instanceof Timestamp && !told.lessThan(time)) return;
  if (latest().lessThan(time)) {
    throw new DbError(
      72,
      'readConcern afterClusterTime value must not be greater than the current clusterTime',
    );
  }
}

/** A cluster time, or undefined. Throws 14 for another type and 72 for the empty one. */
function timeField(concern: Doc, field: string): Timestamp | undefined {
  const time = concern.get(field);
  if (time === undefined) return undefined;
  if (!(time instanceof Timestamp)) {
    throw typeMismatch(
      `"${field}" had the wrong type. Expected timestamp, found ${typeName(time)}`,
    );
  }
  if (time.isZero()) throw new DbError(72, `${field} cannot be a null timestamp`);
  return time;
}

/** Commands that only read, and know no write concern. */
const NO_WRITE_CONCERN: ReadonlySet<string> = new Set([
  'find',
  'count',
  'distinct',
  'getMore',
  'killCursors',
  'listCollections',
  'listIndexes',
]);

const WRITE_CONCERN_FIELDS: ReadonlySet<string> = new Set([
  'w',
  'j',
  'wtimeout',
  'fsync',
  'provenance',
  'getLastError',
  'wOpTime',
  'wElectionId',
]);

/** What a write concern asks for beside the write itself, which is always durable before the answer. */
export interface WriteConcern {
  /** `w: 0`: the answer says nothing. */
  readonly isUnacknowledged: boolean;
  /** Why it cannot be met by one node; the write is made all the same. */
  readonly error: Doc | undefined;
}

/** Throws 9, 14 or 72 for a write concern that is none; nothing was written then. */
export function readWriteConcern(command: string, body: Doc): WriteConcern {
  const concern = body.get('writeConcern');
  if (concern === undefined) return { isUnacknowledged: false, error: undefined };
  if (NO_WRITE_CONCERN.has(command)) throw new DbError(72, 'Command does not support writeConcern');
  if (!isDoc(concern)) {
    throw typeMismatch(
      `"writeConcern" had the wrong type. Expected object, found ${typeName(concern)}`,
    );
  }
  if (concern.size === 0 && (command === 'findAndModify' || command === 'aggregate')) {
    throw failedToParse('write concern object cannot be empty');
  }
  for (const field of concern.keys()) {
    if (!WRITE_CONCERN_FIELDS.has(field)) {
      throw failedToParse(`unrecognized write concern field: ${field}`);
    }
  }
  const journaled = flagOf(concern, 'j');
  if (flagOf(concern, 'fsync') && journaled) {
    throw failedToParse('fsync and j options cannot be used together');
  }
  const w = concern.get('w');
  if (isNumeric(w)) {
    const nodes = toDouble(w);
    return {
      isUnacknowledged: nodes === 0,
      error:
        nodes > 1
          ? unmet(100, 'UnsatisfiableWriteConcern', 'Not enough data-bearing nodes')
          : undefined,
    };
  }
  if (typeof w === 'string' && w !== 'majority') {
    const message = `No write concern mode named '${w}' found in replica set configuration`;
    return { isUnacknowledged: false, error: unmet(79, 'UnknownReplWriteConcern', message) };
  }
  if (typeof w !== 'string' && w !== null && w !== undefined) {
    throw failedToParse('w has to be a number or a string');
  }
  return { isUnacknowledged: false, error: undefined };
}

function flagOf(concern: Doc, field: string): boolean {
  if (!concern.has(field)) return false;
  const value = concern.get(field);
  if (typeof value === 'boolean') return value;
  if (isNumeric(value)) return toDouble(value) !== 0;
  throw failedToParse(`${field} must be numeric or a boolean value`);
}

function unmet(code: number, name: string, message: string): Doc {
  return doc(['code', int32(code)], ['codeName', name], ['errmsg', message]);
}

/** When `maxTimeMS` runs out, in milliseconds of the server's clock; Infinity without one. */
export function deadlineOf(body: Doc, nowMs: number): number {
  const maxTime = body.get('maxTimeMS');
  if (maxTime === undefined || maxTime === null) return Number.POSITIVE_INFINITY;
  if (!isNumeric(maxTime)) throw badValue('maxTimeMS must be a number');
  const ms = toDouble(maxTime);
  if (ms < 0 || ms > 2_147_483_647) throw badValue('maxTimeMS is out of range');
  if (!Number.isInteger(ms)) throw badValue('maxTimeMS has non-integral value');
  return ms === 0 ? Number.POSITIVE_INFINITY : nowMs + ms;
}
