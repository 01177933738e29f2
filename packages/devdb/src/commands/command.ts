import { DbError, typeMismatch } from '../errors.js';
import type { ServerState } from '../state/server-state.js';
import type { Session } from '../state/sessions.js';
import { type Blocked, type Store, type WriteUnit, writeConflict } from '../storage/store.js';
import type { Transaction } from '../storage/transaction.js';
import { toDouble } from '../values/numbers.js';
import { typeName } from '../values/type-names.js';
import { type Doc, isDoc, isNumeric, type Value } from '../values/value.js';

/** The client's side of a command. */
export interface ClientState {
  readonly connectionId: number;
  appName: string | null;
  /** Aborted when the connection closes. */
  readonly signal: AbortSignal;
}

/** One command as it runs. */
export interface CommandContext {
  readonly server: ServerState;
  readonly store: Store;
  readonly client: ClientState;
  /** The command's name as MongoDB spells it. */
  readonly name: string;
  readonly database: string;
  readonly body: Doc;
  readonly session: Session | null;
  readonly txnNumber: bigint | null;
  /** The open transaction that the command belongs to. */
  readonly transaction: Transaction | null;
  readonly unit: WriteUnit;
  /** Whether the session's retry record has to go to disk with the unit. */
  readonly retry: { isDirty: boolean };
  /** `$$NOW`: one instant for the whole command, from the server's clock. */
  readonly now: Date;
  /** When `maxTimeMS` runs out, in milliseconds of the server's clock; Infinity without one. */
  readonly deadlineMs: number;
}

/** What is said about a command beside what it does. */
export interface Command {
  readonly name: string;
  readonly aliases?: readonly string[];
  /** The fields that it takes beside the general ones; unknown ones are refused as `unknownField` says. */
  readonly fields: readonly string[];
  /** The error code for an unknown field; `ignore` takes any. */
  readonly unknownField: 9 | 2 | 72 | 40415 | 51177 | 'ignore';
  readonly adminOnly?: boolean;
  /** Whether it may be part of a transaction. */
  readonly inTransaction?: boolean;
  /** Whether `txnNumber` without a transaction makes it a retryable write. */
  readonly isRetryable?: boolean;
  /** Whether a durable answer is waited for. */
  readonly run: (context: CommandContext) => Doc | Promise<Doc>;
}

/** The field that names the collection, checked. Throws 73 InvalidNamespace. */
export function collectionName(context: CommandContext): string {
  const value = context.body.get(context.body.keys().next().value!);
  if (typeof value !== 'string') {
    throw new DbError(
      NAME_TYPE_ERRORS[context.name] ?? 73,
      `collection name has invalid type ${typeName(value)}`,
    );
  }
  checkNamespace(context.database, value);
  if (CREATING.has(context.name)) checkNewName(context.database, value);
  else if (value.startsWith('$') && !LOOKING.has(context.name)) {
    throw new DbError(73, `Invalid collection name specified '${context.database}.${value}`);
  }
  return value;
}

/** The commands that answer a name of the wrong type otherwise than with 73. */
const NAME_TYPE_ERRORS: Readonly<Record<string, number>> = {
  find: 9,
  insert: 2,
  update: 2,
  delete: 2,
  create: 2,
};

/** The commands that a collection may come into being with, or that would change one. */
const CREATING: ReadonlySet<string> = new Set([
  'insert',
  'update',
  'delete',
  'findAndModify',
  'create',
  'createIndexes',
]);

/** The commands that look a name with a dollar sign up like any other, and do not find it. */
const LOOKING: ReadonlySet<string> = new Set(['explain', 'drop', 'dropIndexes']);

/** How long `database.collection` may be, in bytes. */
const MAX_NAMESPACE_BYTES = 255;

/** Throws 73 for a name that no new collection may have; an existing one cannot have it either. */
export function checkNewName(database: string, name: string): void {
  if (name.includes('$')) throw new DbError(73, 'invalid collection name');
  const namespace = `${database}.${name}`;
  const bytes = Buffer.byteLength(namespace);
  if (bytes > MAX_NAMESPACE_BYTES) {
    throw new DbError(
      73,
      `Fully qualified namespace is too long. Namespace: ${namespace} Max: ${MAX_NAMESPACE_BYTES}`,
    );
  }
}

/** Throws 73 InvalidNamespace for a name that no collection can have. */
export function checkNamespace(database: string, name: string): void {
  if (name === '' || name.startsWith('.') || name.includes('\0') || database === '') {
    throw new DbError(73, `Invalid namespace specified '${database}.${name}'`);
  }
}

/** A document field of a command, or undefined. Throws 14 TypeMismatch for another type. */
export function documentField(body: Doc, field: string): Doc | undefined {
  const value = body.get(field);
  if (value === undefined || value === null) return undefined;
  if (!isDoc(value)) throw wrongType(field, value, 'object');
  return value;
}

/** A boolean field that takes nothing else. Throws 14 TypeMismatch. */
export function strictBooleanField(body: Doc, field: string, fallback = false): boolean {
  const value = body.get(field);
  if (value === undefined) return fallback;
  if (typeof value !== 'boolean') throw wrongType(field, value, 'bool');
  return value;
}

/** The same where null stands for an absent field. Throws 14 TypeMismatch. */
export function optionalBooleanField(body: Doc, field: string, fallback = false): boolean {
  return body.get(field) === null ? fallback : strictBooleanField(body, field, fallback);
}

/** A boolean field; numbers count as booleans, as in MongoDB. */
export function booleanField(body: Doc, field: string, fallback = false): boolean {
  const value = body.get(field);
  if (value === undefined || value === null) return fallback;
  if (typeof value === 'boolean') return value;
  if (isNumeric(value)) return toDouble(value) !== 0;
  throw wrongType(field, value, 'bool');
}

/** A whole number field, or undefined. Throws 14 for another type, 2 for a negative one. */
export function countField(body: Doc, field: string): number | undefined {
  const value = body.get(field);
  if (value === undefined || value === null) return undefined;
  if (!isNumeric(value)) throw wrongType(field, value, 'number');
  const number = Math.trunc(toDouble(value));
  if (number < 0)
    throw new DbError(2, `${field} value must be non-negative, but received: ${number}`);
  return number;
}

export function wrongType(field: string, value: Value, expected: string): DbError {
  return typeMismatch(
    `BSON field '${field}' is the wrong type '${typeName(value)}', expected type '${expected}'`,
  );
}

/**
 * Waits until the transaction that blocked a plain write has ended. What the command wrote before is made durable first, so
 * that writes reach the disk in the order in which they became visible.
 */
export async function waitForUnblock(context: CommandContext, blocked: Blocked): Promise<void> {
  if (context.transaction !== null) throw writeConflict();
  await commitUnit(context);
  const left = context.deadlineMs - context.store.clock.nowMs();
  if (left === Number.POSITIVE_INFINITY) {
    await blocked.transaction.finished;
    return;
  }
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), Math.max(0, left));
  });
  const outcome = await Promise.race([blocked.transaction.finished, late]);
  clearTimeout(timer);
  if (outcome === 'late') throw timeLimit();
}

/** Makes what the command wrote durable, together with what it has to remember for a retry. */
export function commitUnit(context: CommandContext): Promise<void> {
  const { store, unit, session, retry } = context;
  if (retry.isDirty && session !== null) {
    store.retries.store(session.key, unit.stored);
    retry.isDirty = false;
  }
  return store.commit(unit);
}

/** The error of `maxTimeMS`. */
export function timeLimit(): DbError {
  return new DbError(50, 'operation exceeded time limit');
}
