import { DbError } from '../errors.js';
import { SESSION_TIMEOUT_MINUTES, type Session } from '../state/sessions.js';
import { Binary, type Doc, doc, int32, isDoc } from '../values/value.js';
import type { Command, CommandContext } from './command.js';
import { endOpenTransaction } from './transactions.js';

export const startSession: Command = {
  name: 'startSession',
  fields: [],
  unknownField: 'ignore',
  run(context) {
    const id = new Binary(Buffer.from(crypto.randomUUID().replaceAll('-', ''), 'hex'), 4);
    const session = context.server.sessions.use(doc(['id', id]));
    return doc(['id', session.lsid], ['timeoutMinutes', int32(SESSION_TIMEOUT_MINUTES)]);
  },
};

/** Ends sessions: what they have open is aborted. What they did stays known until it is too old for a retry. */
export const endSessions: Command = {
  name: 'endSessions',
  fields: [],
  unknownField: 'ignore',
  run(context) {
    for (const lsid of sessionList(context)) {
      endSession(context, context.server.sessions.use(lsid));
    }
    return doc();
  },
};

function endSession(context: CommandContext, session: Session): void {
  endOpenTransaction(context.server, session);
  context.server.cursors.closeWhere((cursor) => cursor.session === session.key);
  context.server.sessions.delete(session);
}

export const killSessions: Command = { ...endSessions, name: 'killSessions' };

/**
 * Ends every session. The list of users and their sessions must be empty: there are no users here whose sessions it could name.
 */
export const killAllSessions: Command = {
  name: 'killAllSessions',
  fields: [],
  unknownField: 'ignore',
  run(context) {
    if (sessionList(context).length > 0) {
      throw new DbError(238, 'killAllSessions takes an empty list only: there are no users here');
    }
    for (const session of context.server.sessions.all()) endSession(context, session);
    return doc();
  },
};

export const refreshSessions: Command = {
  name: 'refreshSessions',
  fields: [],
  unknownField: 'ignore',
  run(context) {
    for (const lsid of sessionList(context)) context.server.sessions.use(lsid);
    return doc();
  },
};

function sessionList(context: CommandContext): Doc[] {
  const list = context.body.get(context.name);
  if (!Array.isArray(list)) {
    throw new DbError(10065, `invalid parameter: expected an object (${context.name})`);
  }
  for (const lsid of list) {
    if (!isDoc(lsid)) throw new DbError(14, `BSON field '${context.name}' must hold documents`);
  }
  return list as Doc[];
}
