/** What drivers, shells and Compass ask about the server. */
import { hostname, totalmem } from 'node:os';
import { DbError } from '../errors.js';
import { MAX_DOCUMENT_BYTES } from '../storage/store.js';
import { type Doc, doc, int32, Long, type Value } from '../values/value.js';
import { type Command, type CommandContext, collectionName } from './command.js';
import { wholeNumber } from './count.js';
import { SERVER_VERSION } from './handshake.js';
import { readableCollection } from './namespaces.js';

export const buildInfo: Command = {
  name: 'buildInfo',
  aliases: ['buildinfo'],
  fields: [],
  unknownField: 'ignore',
  run: () =>
    doc(
      ['version', SERVER_VERSION],
      ['gitVersion', 'flowline-devdb'],
      ['modules', ['flowline development server']],
      ['allocator', 'v8'],
      ['javascriptEngine', 'none'],
      [
        'versionArray',
        SERVER_VERSION.split('.')
          .concat('0')
          .map((part) => int32(Number(part))),
      ],
      ['bits', int32(64)],
      ['debug', false],
      ['maxBsonObjectSize', int32(MAX_DOCUMENT_BYTES)],
      ['storageEngines', ['devdb']],
    ),
};

export const serverStatus: Command = {
  name: 'serverStatus',
  fields: [],
  unknownField: 'ignore',
  run(context) {
    const { server, store } = context;
    const uptime = (store.clock.nowMs() - server.startedAtMs) / 1000;
    const status = doc(
      ['host', server.address],
      ['version', SERVER_VERSION],
      ['process', 'flowline development server'],
      ['pid', Long.fromNumber(process.pid)],
      ['uptime', Math.floor(uptime)],
      ['uptimeMillis', Long.fromNumber(Math.floor(uptime * 1000))],
      ['localTime', context.now],
      [
        'connections',
        doc(
          ['current', int32(server.connections)],
          ['available', int32(10_000 - server.connections)],
          ['totalCreated', int32(server.totalConnections)],
        ),
      ],
      ['opcounters', server.operations.toDoc()],
      [
        'storageEngine',
        doc(
          ['name', 'devdb'],
          ['persistent', store.disk !== null],
          ['supportsCommittedReads', true],
        ),
      ],
      ['transactions', doc(['currentOpen', Long.fromNumber(store.transactions.size)])],
      ['logicalSessionRecordCache', doc(['activeSessionsCount', int32(server.sessions.count)])],
      [
        'metrics',
        doc(['cursor', doc(['open', doc(['total', Long.fromNumber(server.cursors.count)])])]),
      ],
    );
    if (server.replicaSet !== null) {
      status.set(
        'repl',
        doc(['setName', server.replicaSet], ['ismaster', true], ['me', server.address]),
      );
    }
    return status;
  },
};

export const hostInfo: Command = {
  name: 'hostInfo',
  fields: [],
  unknownField: 'ignore',
  adminOnly: true,
  run: (context) =>
    doc(
      [
        'system',
        doc(
          ['currentTime', context.now],
          ['hostname', hostname()],
          ['memSizeMB', Long.fromNumber(Math.floor(totalmem() / 2 ** 20))],
        ),
      ],
      ['os', doc(['type', process.platform], ['name', process.platform])],
    ),
};

export const whatsmyuri: Command = {
  name: 'whatsmyuri',
  fields: [],
  unknownField: 'ignore',
  run: (context) => doc(['you', `127.0.0.1:${context.client.connectionId}`]),
};

export const connectionStatus: Command = {
  name: 'connectionStatus',
  fields: [],
  unknownField: 'ignore',
  run: () => doc(['authInfo', doc(['authenticatedUsers', []], ['authenticatedUserRoles', []])]),
};

export const getParameter: Command = {
  name: 'getParameter',
  fields: [],
  unknownField: 'ignore',
  adminOnly: true,
  run(context) {
    const known: Doc = new Map<string, Value>([
      ['featureCompatibilityVersion', doc(['version', '4.2'])],
      ['enableTestCommands', true],
      ['logLevel', int32(0)],
    ]);
    const wanted = context.body.get('getParameter');
    const reply = doc();
    for (const [name, value] of known) {
      if (wanted === '*' || context.body.has(name)) reply.set(name, value);
    }
    if (reply.size === 0) return doc(['ok', 0], ['errmsg', 'no option found to get']);
    return reply;
  },
};

export const getCmdLineOpts: Command = {
  name: 'getCmdLineOpts',
  fields: [],
  unknownField: 'ignore',
  adminOnly: true,
  run: () => doc(['argv', ['flowline-devdb']], ['parsed', doc()]),
};

export const getLog: Command = {
  name: 'getLog',
  fields: [],
  unknownField: 'ignore',
  adminOnly: true,
  run: () => doc(['totalLinesWritten', int32(0)], ['log', []]),
};

export const getLastError: Command = {
  name: 'getLastError',
  aliases: ['getlasterror'],
  fields: [],
  unknownField: 'ignore',
  run: (context) =>
    doc(
      ['connectionId', int32(context.client.connectionId)],
      ['lastOp', doc(['ts', context.store.clock.latest()], ['t', Long.ONE])],
      ['n', int32(0)],
      ['syncMillis', int32(0)],
      ['writtenTo', null],
      ['err', null],
    ),
};

export const replSetInitiate: Command = {
  name: 'replSetInitiate',
  fields: [],
  unknownField: 'ignore',
  run() {
    throw new DbError(23, 'already initialized');
  },
};

/** There are no users: nobody can log in, and nobody has to. */
export const saslStart: Command = {
  name: 'saslStart',
  fields: [],
  unknownField: 'ignore',
  run() {
    throw new DbError(18, 'Authentication failed.');
  },
};

export const logout: Command = {
  name: 'logout',
  fields: [],
  unknownField: 'ignore',
  run: () => doc(),
};

export const validate: Command = {
  name: 'validate',
  fields: ['full'],
  unknownField: 'ignore',
  run(context) {
    const name = collectionName(context);
    const collection = readableCollection(context, name);
    if (collection === undefined) throw new DbError(26, 'ns not found');
    return doc(
      ['ns', collection.namespace],
      ['nrecords', wholeNumber(collection.records.size)],
      ['nIndexes', int32(collection.indexes.length)],
      [
        'keysPerIndex',
        doc(
          ...collection.indexes.map((index): [string, Value] => [
            index.spec.name,
            wholeNumber(index.size),
          ]),
        ),
      ],
      ['valid', true],
      ['warnings', []],
      ['errors', []],
    );
  },
};

export const replSetGetStatus: Command = {
  name: 'replSetGetStatus',
  fields: [],
  unknownField: 'ignore',
  adminOnly: true,
  run(context) {
    const { server } = context;
    if (server.replicaSet === null) throw new DbError(76, 'not running with --replSet');
    return doc(
      ['set', server.replicaSet],
      ['date', context.now],
      ['myState', int32(1)],
      [
        'members',
        [
          doc(
            ['_id', int32(0)],
            ['name', server.address],
            ['health', 1],
            ['state', int32(1)],
            ['stateStr', 'PRIMARY'],
            ['self', true],
          ),
        ],
      ],
    );
  },
};

export const collStats: Command = {
  name: 'collStats',
  fields: ['scale'],
  unknownField: 'ignore',
  run(context) {
    const name = collectionName(context);
    const collection = readableCollection(context, name);
    const sizes = doc();
    for (const index of collection?.indexes ?? []) sizes.set(index.spec.name, int32(4096));
    return doc(
      ['ns', `${context.database}.${name}`],
      ['size', int32(0)],
      ['count', wholeNumber(collection?.records.size ?? 0)],
      ['storageSize', int32(0)],
      ['nindexes', int32(sizes.size)],
      ['totalIndexSize', int32(sizes.size * 4096)],
      ['totalSize', int32(sizes.size * 4096)],
      ['indexSizes', sizes],
      ['scaleFactor', int32(1)],
      collection === undefined
        ? ['indexDetails', doc()]
        : ['capped', collection.identity.options.get('capped') === true],
    );
  },
};

export const dbStats: Command = {
  name: 'dbStats',
  aliases: ['dbstats'],
  fields: ['scale'],
  unknownField: 'ignore',
  run(context) {
    const collections = [...collectionsOf(context)];
    const objects = collections.reduce((sum, collection) => sum + collection.records.size, 0);
    const indexes = collections.reduce((sum, collection) => sum + collection.indexes.length, 0);
    return doc(
      ['db', context.database],
      ['collections', int32(collections.length)],
      ['views', int32(0)],
      ['objects', wholeNumber(objects)],
      ['avgObjSize', 0],
      ['dataSize', 0],
      ['storageSize', 0],
      ['indexes', int32(indexes)],
      ['indexSize', 0],
      ['scaleFactor', 1],
      ['fsUsedSize', 0],
      ['fsTotalSize', 0],
    );
  },
};

function* collectionsOf(context: CommandContext) {
  for (const entry of context.store.catalogue.entries(context.database)) {
    if ('records' in entry) yield entry;
  }
}

export const configureFailPoint: Command = {
  name: 'configureFailPoint',
  fields: ['mode', 'data'],
  unknownField: 'ignore',
  adminOnly: true,
  run(context) {
    context.server.failPoints.configure(
      context.body,
      String(context.body.get('configureFailPoint')),
    );
    return doc();
  },
};
