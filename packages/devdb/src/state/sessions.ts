import { DbError } from '../errors.js';
import type { Transaction } from '../storage/transaction.js';
import { typeName } from '../values/type-names.js';
import { Binary, type Doc, doc, isDoc, isLong, type Long, type Value } from '../values/value.js';

/** MongoDB's `logicalSessionTimeoutMinutes`. */
export const SESSION_TIMEOUT_MINUTES = 30;

/** How long a transaction may run, as in MongoDB. */
export const TRANSACTION_LIFETIME_MS = 60_000;

/** A logical session that a client named with `lsid`. */
export interface Session {
  /** Hex of the id: the key of its retry record. */
  readonly key: string;
  readonly lsid: Doc;
  /** Its open transaction, with the number the client gave it. */
  transaction: { readonly open: Transaction; readonly txnNumber: bigint } | null;
  lastUsedMs: number;
  /** Commands of one session run one after the other. */
  queue: Promise<void>;
}

/** How many sessions may live at once. */
const MAX_SESSIONS = 1_000_000;

/** The sessions that clients have used lately. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();

  constructor(readonly nowMs: () => number) {}

  get count(): number {
    return this.#sessions.size;
  }

  /** The session of an `lsid`, made if it is new. Throws as MongoDB does for a malformed one. */
  use(lsid: Value): Session {
    const id = sessionId(lsid);
    const key = Buffer.from(id.value()).toString('hex');
    let session = this.#sessions.get(key);
    if (session === undefined) {
      if (this.#sessions.size >= MAX_SESSIONS) {
        throw new DbError(261, 'cannot add session into the cache: too many sessions');
      }
      session = {
        key,
        lsid: doc(['id', id]),
        transaction: null,
        lastUsedMs: 0,
        queue: Promise.resolve(),
      };
      this.#sessions.set(key, session);
    }
    session.lastUsedMs = this.nowMs();
    return session;
  }

  get(key: string): Session | undefined {
    return this.#sessions.get(key);
  }

  delete(session: Session): void {
    this.#sessions.delete(session.key);
  }

  all(): Session[] {
    return [...this.#sessions.values()];
  }
}

function sessionId(lsid: Value): Binary {
  if (!isDoc(lsid)) {
    throw new DbError(
      14,
      "BSON field 'OperationSessionInfo.lsid' is the wrong type, expected type 'object'",
    );
  }
  for (const name of lsid.keys()) {
    if (!['id', 'uid', 'txnNumber', 'txnUUID'].includes(name)) {
      throw new DbError(
        40415,
        `BSON field 'OperationSessionInfo.lsid.${name}' is an unknown field.`,
      );
    }
  }
  if (!lsid.has('id')) {
    throw new DbError(
      40414,
      "BSON field 'OperationSessionInfo.lsid.id' is missing but a required field",
    );
  }
  const id = lsid.get('id');
  if (!(id instanceof Binary) || id.sub_type !== Binary.SUBTYPE_UUID || id.length() !== 16) {
    throw new DbError(
      14,
      "BSON field 'OperationSessionInfo.lsid.id' is the wrong type, expected type 'UUID'",
    );
  }
  return id;
}

/** The session part of a command. */
export interface SessionFields {
  readonly txnNumber: bigint | null;
  readonly isTransaction: boolean;
  readonly startsTransaction: boolean;
}

/** Reads `txnNumber`, `autocommit` and `startTransaction`. */
export function readSessionFields(body: Doc): SessionFields {
  const txnNumber = body.get('txnNumber');
  if (txnNumber !== undefined && !isLong(txnNumber)) {
    throw new DbError(
      14,
      `BSON field 'OperationSessionInfo.txnNumber' is the wrong type '${typeName(txnNumber)}', expected type 'long'`,
    );
  }
  if (txnNumber?.isNegative()) throw new DbError(72, 'Transaction number cannot be negative');
  return {
    txnNumber: txnNumber === undefined ? null : bigIntOf(txnNumber),
    isTransaction: body.get('autocommit') === false,
    startsTransaction: body.get('startTransaction') === true,
  };
}

/** By its halves: the class itself goes by its decimal digits, which takes longer than the rest of a session's fields. */
function bigIntOf(number: Long): bigint {
  return (BigInt(number.high) << 32n) | BigInt(number.low >>> 0);
}
