import { SESSION_TIMEOUT_MINUTES } from '../state/sessions.js';
import { MAX_DOCUMENT_BYTES } from '../storage/store.js';
import { type Doc, doc, int32, isDoc, type Value } from '../values/value.js';
import type { Command, CommandContext } from './command.js';

/** Wire version 9 is MongoDB 4.4. */
export const MAX_WIRE_VERSION = 9;

/** What the server calls itself in `buildInfo`: the release whose commands it answers. */
export const SERVER_VERSION = '4.4.0';

/** MongoDB's `maxWriteBatchSize`. */
export const MAX_WRITE_BATCH = 100_000;

/** Remembers the application's name, which fail points can ask for. */
function rememberClient(context: CommandContext): void {
  const client = context.body.get('client');
  const application = isDoc(client) ? client.get('application') : undefined;
  const name = isDoc(application) ? application.get('name') : undefined;
  if (typeof name === 'string') context.client.appName = name;
}

function describe(context: CommandContext, primaryField: 'isWritablePrimary' | 'ismaster'): Doc {
  rememberClient(context);
  const { server } = context;
  const reply: Doc = new Map();
  if (server.replicaSet !== null) {
    reply.set('hosts', [server.address]);
    reply.set('setName', server.replicaSet);
    reply.set('setVersion', int32(1));
  }
  if (context.body.get('helloOk') === true) reply.set('helloOk', true);
  reply.set(primaryField, true);
  if (server.replicaSet !== null) {
    reply.set('secondary', false);
    reply.set('primary', server.address);
    reply.set('me', server.address);
  }
  const rest: [string, Value][] = [
    ['maxBsonObjectSize', int32(MAX_DOCUMENT_BYTES)],
    ['maxMessageSizeBytes', int32(48_000_000)],
    ['maxWriteBatchSize', int32(MAX_WRITE_BATCH)],
    ['localTime', context.now],
    ['logicalSessionTimeoutMinutes', int32(SESSION_TIMEOUT_MINUTES)],
    ['connectionId', int32(context.client.connectionId)],
    ['minWireVersion', int32(0)],
    ['maxWireVersion', int32(MAX_WIRE_VERSION)],
    ['readOnly', false],
  ];
  for (const [key, value] of rest) reply.set(key, value);
  return reply;
}

/** `hello`: no `topologyVersion`, so that drivers poll and do not ask for a streaming hello. */
export const hello: Command = {
  name: 'hello',
  fields: [],
  unknownField: 'ignore',
  run: (context) => describe(context, 'isWritablePrimary'),
};

export const isMaster: Command = {
  name: 'isMaster',
  aliases: ['ismaster'],
  fields: [],
  unknownField: 'ignore',
  run: (context) => describe(context, 'ismaster'),
};

export const ping: Command = { name: 'ping', fields: [], unknownField: 'ignore', run: () => doc() };
