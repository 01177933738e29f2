import type { ClientSession, Document, MongoClient } from 'mongodb';
import { Long, MongoServerError } from 'mongodb';
import type { GoldenCase } from './case-file.ts';
import { type Comparison, difference, differenceOfReplies } from './compare.ts';
import { Placeholders } from './placeholders.ts';

const DATABASE = 'golden';

/** Keep all BSON types as they came. */
const RAW_TYPES = {
  promoteValues: false,
  promoteLongs: false,
  bsonRegExp: true,
  ignoreUndefined: true,
};

/** Runs a case and says what differs; null if nothing does. */
export async function runCase(client: MongoClient, golden: GoldenCase): Promise<string | null> {
  await send(client, 'golden', { dropDatabase: 1 });
  const placeholders = new Placeholders();
  for (const command of golden.setup) {
    const reply = await send(client, DATABASE, placeholders.fill(command) as Map<string, unknown>);
    if (Number(reply.ok) !== 1 || reply.writeErrors) {
      return `setup failed: ${JSON.stringify(reply)}`;
    }
  }
  const used: Map<string, unknown>[] = [];
  const found = await runSteps(client, golden, placeholders, used);
  await endTransactions(client, used);
  return found ?? (await differenceOfFinals(client, golden, placeholders));
}

async function runSteps(
  client: MongoClient,
  golden: GoldenCase,
  placeholders: Placeholders,
  used: Map<string, unknown>[],
): Promise<string | null> {
  for (const [index, step] of golden.steps.entries()) {
    const command = placeholders.fill(step.command) as Map<string, unknown>;
    if (golden.area === 'change-stream' && command.has('getMore')) await pause(50);
    used.push(command);
    const reply = await send(client, step.db ?? DATABASE, command);
    const comparison: Comparison = {
      placeholders,
      sets: golden.sets ?? [],
      unordered: step.unordered ?? false,
    };
    const found = differenceOfReplies(step.reply, reply, comparison);
    if (found !== null) return `step ${index}: ${found}`;
  }
  return null;
}

async function differenceOfFinals(
  client: MongoClient,
  golden: GoldenCase,
  placeholders: Placeholders,
): Promise<string | null> {
  const finals = Object.entries({
    ...(golden.final ? { c: golden.final } : {}),
    ...golden.finalOther,
  });
  for (const [collection, expected] of finals) {
    const reply = await send(client, DATABASE, {
      find: collection,
      sort: { _id: 1 },
      batchSize: 10_000,
    });
    const comparison: Comparison = { placeholders, sets: golden.sets ?? [], unordered: false };
    const actual = (reply.cursor as Document | undefined)?.firstBatch ?? reply;
    const found = difference(expected, actual, comparison, `final ${collection}`);
    if (found !== null) return found;
  }
  return null;
}

/** Aborts what a case has left open. */
async function endTransactions(client: MongoClient, used: readonly Map<string, unknown>[]) {
  const seen = new Set<string>();
  for (const command of used) {
    if (command.get('autocommit') !== false) continue;
    const lsid = command.get('lsid');
    const txnNumber = command.get('txnNumber');
    const key = `${JSON.stringify(lsid)} ${String(txnNumber)}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const abort = { abortTransaction: 1, lsid, txnNumber, autocommit: false };
    await send(client, 'admin', abort);
  }
}

/**
 * Sends a command as it is. The driver would put its own session into it; a session whose number we give makes it send ours, or
 * none.
 */
async function send(
  client: MongoClient,
  database: string,
  command: Document | Map<string, unknown>,
): Promise<Document> {
  const plain: Document = command instanceof Map ? Object.fromEntries(command) : { ...command };
  const session = client.startSession({ causalConsistency: false });
  const own = session as unknown as { _serverSession: unknown };
  const pooled = own._serverSession;
  own._serverSession = {
    id: plain.lsid,
    lastUse: 0,
    txnNumber: Long.isLong(plain.txnNumber) ? plain.txnNumber.toNumber() : 0,
    isDirty: false,
    hasTimedOut: () => false,
  };
  try {
    return await client
      .db(database)
      .command(plain, { ...RAW_TYPES, session: session as ClientSession });
  } catch (error) {
    if (error instanceof MongoServerError) return replyOf(error);
    throw error;
  } finally {
    own._serverSession = pooled;
    await session.endSession();
  }
}

/** The server's reply; what the driver adds of an unmet write concern is taken out. */
function replyOf(error: MongoServerError): Document {
  const {
    code: _code,
    codeName: _name,
    errmsg: _message,
    ...rest
  } = error.errorResponse as unknown as Document;
  if (rest.writeConcernError !== undefined) return rest;
  return error.errorResponse as unknown as Document;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
