import { DbError, failedToParse } from '../errors.js';
import { type Doc, isDoc, isNumeric, type Value } from '../values/value.js';
import {
  booleanField,
  type CommandContext,
  countField,
  documentField,
  wrongType,
} from './command.js';

/** Part of an index: from `min` (included) to `max` (excluded). */
export interface IndexBounds {
  readonly min: Doc | undefined;
  readonly max: Doc | undefined;
}

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
  /** `min` and `max`, in the index of `hint`. */
  readonly bounds: IndexBounds | undefined;
  /** Answer with the index keys of the documents. */
  readonly returnKey: boolean;
  readonly showRecordId: boolean;
  readonly noCursorTimeout: boolean;
  readonly tailable: boolean;
  readonly awaitData: boolean;
}

export function readQuery(context: CommandContext): Query {
  const { body } = context;
  refuseCollation(body);
  checkForm(body);
  refuseRemovedFields(body);
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
    batchSize: countField(body, 'batchSize') ?? countField(body, 'ntoreturn'),
    singleBatch: booleanField(body, 'singleBatch'),
    hint: readHintField(body),
    bounds: readBounds(body),
    returnKey: booleanField(body, 'returnKey'),
    showRecordId: booleanField(body, 'showRecordId'),
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

/** The same for commands to which a collation of null is none. */
export function refuseOptionalCollation(body: Doc): void {
  if (body.get('collation') !== null) refuseCollation(body);
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
  if (!isKnownLocale(collation.get('locale') as string)) {
    throw new DbError(2, "Field 'locale' is invalid in the collation");
  }
  throw new DbError(238, 'this development server supports the simple collation only');
}

function isKnownLocale(locale: string): boolean {
  try {
    return Intl.Collator.supportedLocalesOf(locale.replaceAll('_', '-')).length > 0;
  } catch {
    return false;
  }
}

/** The bounds `min` and `max`, which need the index that they are bounds of. */
function readBounds(body: Doc): IndexBounds | undefined {
  const min = documentField(body, 'min');
  const max = documentField(body, 'max');
  if (!min?.size && !max?.size) return undefined;
  const hint = body.get('hint');
  if (isDoc(hint) && hint.has('$natural')) {
    throw new DbError(2, 'min and max are incompatible with a hint of $natural');
  }
  if (hint === undefined || (isDoc(hint) && hint.size === 0)) {
    throw new DbError(
      51173,
      'When using min()/max() a hint of which index to use must be provided',
    );
  }
  return { min: min?.size ? min : undefined, max: max?.size ? max : undefined };
}

function refuseRemovedFields(body: Doc): void {
  if (body.has('snapshot')) throw failedToParse("Failed to parse: unrecognized field 'snapshot'");
  if (body.has('ntoreturn') && (body.has('limit') || body.has('batchSize'))) {
    throw new DbError(2, "'limit' or 'batchSize' fields can not be set with 'ntoreturn' field.");
  }
}
