import { DbError, failedToParse } from '../errors.js';
import { type Doc, isDoc, isNumeric, type Value } from '../values/value.js';
import {
  booleanField,
  type CommandContext,
  countField,
  documentField,
  wrongType,
} from './command.js';

/** A find as it was asked for. */
export interface Query {
  readonly filter: Doc;
  readonly projection: Doc | undefined;
  readonly sort: Doc | undefined;
  readonly skip: number;
  /** 0 for no limit. */
  readonly limit: number;
  readonly batchSize: number | undefined;
  readonly singleBatch: boolean;
  readonly hint: Value;
  readonly noCursorTimeout: boolean;
  readonly tailable: boolean;
  readonly awaitData: boolean;
}

export function readQuery(context: CommandContext): Query {
  const { body } = context;
  refuseCollation(body);
  checkForm(body);
  refuseUnsupported(body);
  const limit = countField(body, 'limit') ?? 0;
  const tailable = booleanField(body, 'tailable');
  const awaitData = booleanField(body, 'awaitData');
  if (awaitData && !tailable) throw failedToParse('Cannot set awaitData without tailable');
  return {
    filter: documentField(body, 'filter') ?? new Map(),
    projection: documentField(body, 'projection'),
    sort: documentField(body, 'sort'),
    skip: countField(body, 'skip') ?? 0,
    limit,
    batchSize: countField(body, 'batchSize'),
    singleBatch: booleanField(body, 'singleBatch'),
    hint: readHintField(body),
    noCursorTimeout: booleanField(body, 'noCursorTimeout'),
    tailable,
    awaitData,
  };
}

/** The types of a find's fields; find answers wrong ones with 9 and takes no null. */
function checkForm(body: Doc): void {
  for (const field of ['filter', 'projection', 'sort']) {
    const value = body.get(field);
    if (body.has(field) && !isDoc(value)) {
      throw failedToParse(`'${field}' field must be of BSON type object.`);
    }
  }
  for (const field of ['limit', 'skip', 'batchSize']) {
    const value = body.get(field);
    if (body.has(field) && !isNumeric(value)) {
      throw failedToParse(`'${field}' field must be numeric.`);
    }
  }
  if (booleanField(body, 'oplogReplay')) {
    throw new DbError(2, 'OplogReplay cursor requested on non-capped collection');
  }
}

function readHintField(body: Doc): Value {
  const hint = body.get('hint');
  if (hint === undefined || typeof hint === 'string' || isDoc(hint)) return hint;
  throw wrongType('hint', hint, 'string or object');
}

/** Only the simple collation is supported. */
export function refuseCollation(body: Doc): void {
  const collation = body.get('collation');
  if (collation === undefined) return;
  if (!isDoc(collation)) throw wrongType('collation', collation, 'object');
  if (collation.size === 0) return;
  if (collation.get('locale') === 'simple') return;
  if (typeof collation.get('locale') !== 'string') {
    throw new DbError(40414, "BSON field 'collation.locale' is missing but a required field");
  }
  throw new DbError(238, 'this development server supports the simple collation only');
}

function refuseUnsupported(body: Doc): void {
  for (const field of ['min', 'max'] as const) {
    const value = body.get(field);
    if (isDoc(value) && value.size > 0) {
      throw new DbError(238, `find option '${field}' is not supported by this development server`);
    }
  }
  for (const field of ['returnKey', 'showRecordId'] as const) {
    if (booleanField(body, field)) {
      throw new DbError(238, `find option '${field}' is not supported by this development server`);
    }
  }
  for (const field of ['ntoreturn', 'snapshot']) {
    if (body.has(field)) throw failedToParse(`Failed to parse: unrecognized field '${field}'`);
  }
}
