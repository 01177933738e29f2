import { DbError } from '../errors.js';
import { SESSION_TIMEOUT_MINUTES } from '../state/sessions.js';
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
      const session = context.server.sessions.use(lsid);
      endOpenTransaction(context.server, session);
      context.server.cursors.closeWhere((cursor) => cursor.session === session.key);
      context.server.sessions.delete(session);
    }
    return doc();
  },
};

export const killSessions: Command = { ...endSessions, name: 'killSessions' };

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
