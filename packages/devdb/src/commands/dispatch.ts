/** From a decoded request to its reply: finds the command, settles its session and transaction, runs it, makes it durable. */
import { setTimeout as delay } from 'node:timers/promises';
import { DbError } from '../errors.js';
import type { Strike } from '../state/fail-points.js';
import type { ServerState } from '../state/server-state.js';
import { readSessionFields, type Session } from '../state/sessions.js';
import { WriteUnit, writeConflict } from '../storage/store.js';
import { Binary, type Doc, doc, int32, Long } from '../values/value.js';
import { type ClientState, type Command, type CommandContext, commitUnit } from './command.js';
import { COMMANDS } from './command-table.js';
import { labelsOf } from './error-labels.js';
import {
  checkReadPreference,
  deadlineOf,
  readConcernLevel,
  readWriteConcern,
} from './general-options.js';
import { joinTransaction, statementFailed } from './transactions.js';

/** Fields that every command takes. */
const GENERAL_FIELDS: ReadonlySet<string> = new Set([
  'lsid',
  'txnNumber',
  'autocommit',
  'startTransaction',
  'stmtId',
  'stmtIds',
  'maxTimeMS',
  'readConcern',
  'writeConcern',
  'comment',
  '$db',
  '$clusterTime',
  '$readPreference',
  '$client',
  '$configServerState',
  '$audit',
  '$replData',
  'apiVersion',
  'apiStrict',
  'apiDeprecationErrors',
]);

/** What the connection does with a command: sends the reply, or closes as a fail point wants. */
export type Outcome = { readonly reply: Doc } | { readonly closeConnection: true };

/** Runs one command. Never rejects: failures become error replies. */
export async function dispatch(
  server: ServerState,
  client: ClientState,
  body: Doc,
): Promise<Outcome> {
  const sentName = body.keys().next().value ?? '';
  const command = COMMANDS.get(sentName);
  server.operations.count(command?.name ?? sentName);
  const strike = server.failPoints.strike(
    {
      name: command?.name ?? sentName,
      appName: client.appName,
      namespace: () => namespaceOf(body, sentName),
    },
    server.random,
  );
  try {
    if (strike !== null) {
      if (strike.blockMs > 0) await delay(strike.blockMs);
      if (strike.closeConnection) return { closeConnection: true };
      if (strike.error !== null && strike.writeConcernError === null) throw strike.error;
    }
    const { adversary } = server;
    if (adversary !== null) {
      await adversary.delay();
      if (adversary.dropsConnection(command?.name ?? sentName)) return { closeConnection: true };
    }
    if (command === undefined) throw new DbError(59, `no such command: '${sentName}'`);
    const reply = await runInSession(server, client, command, body);
    if (strike?.writeConcernError) reply.set('writeConcernError', strike.writeConcernError);
    if (reply.has('writeConcernError')) label(server, reply, command, body, strike);
    if (adversary?.losesReply(command.name)) return { closeConnection: true };
    return { reply: finishReply(server, reply) };
  } catch (error) {
    const reply = errorReply(error);
    label(server, reply, command, body, strike);
    return { reply: finishReply(server, reply) };
  }
}

/** Puts the labels on an error that go with its code, beside its own; or those that a fail point gives. */
function label(
  server: ServerState,
  reply: Doc,
  command: Command | undefined,
  body: Doc,
  strike: Strike | null,
): void {
  const own = (reply.get('errorLabels') ?? []) as string[];
  // A fail point strikes a getMore before its cursor is looked up, so that nothing knows yet of a change stream.
  const isBlind = command?.name === 'getMore' && strike?.error;
  const found = isBlind ? [] : labelsOf(command, body, reply, server.cursors);
  const labels = strike?.errorLabels ?? [...new Set([...own, ...found])];
  if (labels.length > 0) reply.set('errorLabels', [...labels]);
  else reply.delete('errorLabels');
}

/** The namespace that a command names; a database's own commands have none of their own. */
function namespaceOf(body: Doc, sentName: string): string {
  const collection = body.get(sentName === 'getMore' ? 'collection' : sentName);
  const database = String(body.get('$db'));
  return typeof collection === 'string' ? `${database}.${collection}` : database;
}

async function runInSession(
  server: ServerState,
  client: ClientState,
  command: Command,
  body: Doc,
): Promise<Doc> {
  const database = body.get('$db');
  if (typeof database !== 'string')
    throw new DbError(40414, "BSON field '$db' is missing but a required field");
  checkDatabaseName(database);
  if (command.adminOnly && database !== 'admin') {
    throw new DbError(13, `${command.name} may only be run against the admin database.`);
  }
  const lsid = body.get('lsid');
  const isNamed = body.has('lsid') && lsid !== null;
  const session = isNamed ? server.sessions.use(lsid) : null;
  const { txnNumber } = readSessionFields(body);
  if (session === null || txnNumber === null) {
    if (txnNumber !== null)
      throw new DbError(72, 'Transaction number requires a session ID to be specified');
    if (body.has('autocommit'))
      throw new DbError(
        72,
        "'autocommit' field requires a transaction number to also be specified",
      );
    if (body.has('startTransaction')) {
      throw new DbError(
        72,
        "'startTransaction' field requires a transaction number to also be specified",
      );
    }
    return run(server, client, command, body, database, session, null);
  }
  // Commands of one session with a number run one after the other, as they do in MongoDB.
  const before = session.queue;
  let done: () => void = () => {};
  session.queue = new Promise((resolve) => {
    done = resolve;
  });
  try {
    await before;
    return await run(server, client, command, body, database, session, txnNumber);
  } finally {
    done();
  }
}

function checkDatabaseName(name: string): void {
  if (name === '' || name.length > 63 || /[\0/\\. "$]/.test(name)) {
    if (name === '$external') return;
    throw new DbError(73, `Invalid database name: '${name}'`);
  }
}

async function run(
  server: ServerState,
  client: ClientState,
  command: Command,
  body: Doc,
  database: string,
  session: Session | null,
  txnNumber: bigint | null,
): Promise<Doc> {
  const { store } = server;
  checkReadPreference(body);
  const writeConcern = readWriteConcern(command.name, body);
  const level = readConcernLevel(body, body.get('startTransaction') === true, () =>
    store.clock.latest(),
  );
  const deadlineMs = deadlineOf(body, store.clock.nowMs());
  checkFields(command, body);
  const transaction = joinTransaction(server, command, body, database, session, txnNumber);
  const unit = new WriteUnit(
    transaction,
    session !== null && txnNumber !== null
      ? { lsid: session.lsid, txnNumber: Long.fromBigInt(txnNumber) }
      : null,
  );
  const context: CommandContext = {
    server,
    store,
    client,
    name: command.name,
    database,
    body,
    session,
    txnNumber,
    transaction,
    unit,
    retry: { isDirty: false },
    now: store.clock.now(),
    deadlineMs,
  };
  try {
    if (transaction !== null && server.adversary?.conflicts() && !endsTransaction(command.name)) {
      throw writeConflict();
    }
    const reply = await command.run(context);
    // What others have made visible and is not on disk yet must not be read as safe.
    if (level === 'majority' || level === 'linearizable') await store.disk?.flushed();
    if (writeConcern.isUnacknowledged && command.isRetryable) return new Map();
    if (writeConcern.error !== undefined) reply.set('writeConcernError', writeConcern.error);
    return reply;
  } catch (error) {
    statementFailed(context, error);
    throw error;
  } finally {
    // What a failed command did write must be as durable as what others may have seen of it.
    await commitUnit(context);
  }
}

function endsTransaction(name: string): boolean {
  return name === 'commitTransaction' || name === 'abortTransaction';
}

function checkFields(command: Command, body: Doc): void {
  if (command.unknownField === 'ignore') return;
  let first = true;
  for (const field of body.keys()) {
    if (first) {
      first = false;
      continue;
    }
    if (GENERAL_FIELDS.has(field) || command.fields.includes(field)) continue;
    const message =
      command.unknownField === 40415
        ? `BSON field '${command.name}.${field}' is an unknown field.`
        : `Failed to parse: unrecognized field '${field}' of ${command.name}`;
    throw new DbError(command.unknownField, message);
  }
}

/** The reply of a failure. What is no DbError is a fault of this server and says so. */
export function errorReply(error: unknown): Doc {
  const known =
    error instanceof DbError
      ? error
      : new DbError(1, `internal fault of the development server: ${faultText(error)}`);
  const reply = doc(
    ['ok', 0],
    ['errmsg', known.message],
    ['code', int32(known.code)],
    ['codeName', known.codeName],
  );
  if (known.labels && known.labels.length > 0) reply.set('errorLabels', known.labels);
  for (const [key, value] of known.extra ?? []) reply.set(key, value);
  return reply;
}

function faultText(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Adds `ok` and, on a replica set, the cluster time. */
function finishReply(server: ServerState, reply: Doc): Doc {
  if (!reply.has('ok')) reply.set('ok', 1);
  if (server.replicaSet !== null) {
    const time = server.store.clock.latest();
    reply.set(
      '$clusterTime',
      doc(
        ['clusterTime', time],
        ['signature', doc(['hash', new Binary(Buffer.alloc(20), 0)], ['keyId', Long.ZERO])],
      ),
    );
    reply.set('operationTime', time);
  }
  return reply;
}
