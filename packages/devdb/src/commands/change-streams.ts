/** `$changeStream`: a cursor over the change log, with resume tokens that name a place in it. */
import { createHash } from 'node:crypto';
import type { Stage } from '../aggregate/stage.js';
import { STAGE_NAMES } from '../aggregate/stage-names.js';
import { DbError } from '../errors.js';
import type { DocumentSource } from '../state/cursors.js';
import type { Change } from '../storage/change-log.js';
import type { Store } from '../storage/store.js';
import { formatDocument } from '../values/format.js';
import { Binary, type Doc, doc, isDoc, Timestamp, type Value } from '../values/value.js';
import type { CommandContext } from './command.js';
import { openCursor } from './open-cursor.js';
import { compileCommandPipeline } from './pipelines.js';

/** What a stream watches. */
interface Watched {
  /** Null for the whole deployment. */
  readonly database: string | null;
  /** Null for a whole database. */
  readonly collection: string | null;
}

/** Stages that may follow `$changeStream`. */
const ALLOWED: ReadonlySet<string> = new Set([
  '$match',
  '$project',
  '$addFields',
  '$set',
  '$unset',
  '$replaceRoot',
  '$replaceWith',
  '$redact',
]);

export function openChangeStream(
  context: CommandContext,
  name: string | null,
  pipeline: readonly Doc[],
  batchSize: number,
): Doc {
  const { store, server, database } = context;
  if (server.replicaSet === null) {
    throw new DbError(40573, 'The $changeStream stage is only supported on replica sets');
  }
  if (context.transaction !== null) {
    throw new DbError(263, '$changeStream cannot run in a transaction');
  }
  checkReadConcern(context.body);
  const options = pipeline[0]!.get('$changeStream');
  if (!isDoc(options)) {
    throw new DbError(50808, '$changeStream stage expects a document as argument.');
  }
  const settings = readOptions(options, store);
  for (const stage of pipeline.slice(1)) {
    const stageName = stage.keys().next().value!;
    if (!STAGE_NAMES.has(stageName)) {
      throw new DbError(40324, `Unrecognized pipeline stage name: '${stageName}'`);
    }
    if (!ALLOWED.has(stageName)) {
      throw new DbError(20, `${stageName} is not permitted in a $changeStream pipeline`);
    }
  }
  const compiled = compileCommandPipeline(context, name, pipeline.slice(1));
  const allDatabases = options.get('allChangesForCluster') === true;
  if (allDatabases && (name !== null || database !== 'admin')) {
    throw new DbError(
      72,
      'A $changeStream with allChangesForCluster must be opened on the admin database with {aggregate: 1}',
    );
  }
  const isInternal = ['local', 'config'].includes(database);
  if (isInternal || (database === 'admin' && !allDatabases)) {
    throw new DbError(73, `$changeStream may not be opened on the internal ${database} database`);
  }
  if (name?.startsWith('system.')) {
    throw new DbError(73, `$changeStream may not be opened on the internal ${name} collection`);
  }
  const watched: Watched = { database: allDatabases ? null : database, collection: name };
  const source = changeSource(store, watched, settings, compiled.run);
  return openCursor(context, source, `${database}.${name ?? '$cmd.aggregate'}`, {
    batchSize,
    isTailable: true,
    awaitsData: true,
  });
}

/** Throws 72 for any read concern but `majority`; one that is not named is taken as that. */
function checkReadConcern(body: Doc): void {
  const concern = body.get('readConcern');
  const level = isDoc(concern) ? concern.get('level') : undefined;
  if (level === undefined || level === 'majority') return;
  throw new DbError(
    72,
    `Aggregation stage $changeStream cannot run with a readConcern other than 'majority'. Current readConcern: ${String(level)}`,
  );
}

interface Settings {
  readonly after: number;
  /** Whether the stream goes on behind the very event of `after`, and not behind its invalidate or a mere place. */
  readonly isBehindEvent: boolean;
  readonly fullDocument: string;
}

const OPTIONS: ReadonlySet<string> = new Set([
  'fullDocument',
  'resumeAfter',
  'startAfter',
  'startAtOperationTime',
  'allChangesForCluster',
]);

function readOptions(options: Doc, store: Store): Settings {
  for (const option of options.keys()) {
    if (!OPTIONS.has(option)) {
      throw new DbError(40415, `BSON field '$changeStream.${option}' is an unknown field.`);
    }
  }
  const fullDocument = options.get('fullDocument') ?? 'default';
  if (fullDocument !== 'default' && fullDocument !== 'updateLookup') {
    throw new DbError(
      40575,
      `unrecognized value for the 'fullDocument' option to the $changeStream stage. Expected "default" or "updateLookup", got "${String(fullDocument)}"`,
    );
  }
  const starts = ['resumeAfter', 'startAfter', 'startAtOperationTime'].filter((one) =>
    options.has(one),
  );
  if (starts.length > 1) {
    throw new DbError(
      40674,
      `Only one type of resume option is allowed, but ${starts.join(' and ')} were found.`,
    );
  }
  const token = options.get('resumeAfter') ?? options.get('startAfter');
  if (token !== undefined) {
    const place = readToken(token);
    if (place.kind === 'invalidate' && options.has('resumeAfter')) {
      throw new DbError(
        260,
        'Attempting to resume a change stream using resumeAfter is not allowed from an invalidate notification.',
      );
    }
    checkKept(store, place.sequence);
    return { after: place.sequence, isBehindEvent: place.kind === 'event', fullDocument };
  }
  const time = options.get('startAtOperationTime');
  if (time !== undefined) {
    if (!(time instanceof Timestamp))
      throw new DbError(14, 'startAtOperationTime must be a timestamp');
    return { after: store.changes.sequenceBefore(time), isBehindEvent: false, fullDocument };
  }
  return { after: store.changes.lastSequence, isBehindEvent: false, fullDocument };
}

function checkKept(store: Store, sequence: number): void {
  if (sequence < store.changes.horizon) {
    throw new DbError(
      286,
      'Resume of change stream was not possible, as the resume point may no longer be in the change log.',
      {
        labels: ['NonResumableChangeStreamError'],
      },
    );
  }
  if (sequence > store.changes.lastSequence) {
    throw new DbError(280, 'cannot resume stream; the resume token was not found.', {
      labels: ['NonResumableChangeStreamError'],
    });
  }
}

/** The digest of no user, which MongoDB puts beside a session's id where nobody is logged in. */
const NOBODY = new Binary(createHash('sha256').digest());

/** What a token stands behind: an event, the invalidate that followed it, or all that was in the log by then. */
type TokenKind = 'event' | 'invalidate' | 'place';

const TOKEN_MARKS: Readonly<Record<TokenKind, string>> = {
  event: '00',
  invalidate: '01',
  place: '02',
};

/** `{ _data }`: the sequence as sixteen hex digits, and a mark of the kind. */
function makeToken(sequence: number, kind: TokenKind): Doc {
  const digits = sequence.toString(16).toUpperCase().padStart(16, '0');
  return doc(['_data', `82${digits}${TOKEN_MARKS[kind]}`]);
}

function readToken(token: Value): { sequence: number; kind: TokenKind } {
  if (!isDoc(token)) throw new DbError(14, 'a resume token must be a document');
  const data = token.get('_data');
  if (typeof data !== 'string') {
    throw new DbError(
      40647,
      'Bad resume token: _data of missing or of wrong type. Expected string, got ' +
        formatDocument(token),
    );
  }
  if (!/^([0-9A-F]{2})*$/i.test(data)) {
    throw new DbError(9, 'resume token string was not a valid hex string');
  }
  const match = /^82([0-9A-F]{16})(0[012])$/.exec(data);
  if (match === null) throw new DbError(260, 'the resume token is not one of this server');
  const kinds = Object.keys(TOKEN_MARKS) as TokenKind[];
  const kind = kinds.find((one) => TOKEN_MARKS[one] === match[2])!;
  return { sequence: Number.parseInt(match[1]!, 16), kind };
}

function changeSource(
  store: Store,
  watched: Watched,
  settings: Settings,
  stages: Stage,
): DocumentSource {
  let position = settings.after;
  let token = makeToken(position, 'place');
  let over = false;
  let wake: (() => void) | null = null;
  const waiting: Doc[] = [];
  // Whoever goes on behind the event that ended a stream has its invalidate yet to come.
  const last = settings.isBehindEvent ? store.changes.after(position - 1) : undefined;
  if (last?.sequence === position && isWatched(last, watched) && invalidates(last, watched)) {
    over = true;
    waiting.push(invalidateEvent(last));
  }
  const advance = (): Doc | null => {
    for (;;) {
      const ready = waiting.shift();
      if (ready !== undefined) return ready;
      if (over) return null;
      if (position < store.changes.horizon) {
        throw new DbError(286, 'the change stream fell behind the change log', {
          labels: ['NonResumableChangeStreamError'],
        });
      }
      const change = store.changes.after(position);
      if (change === undefined) return null;
      position = change.sequence;
      if (isWatched(change, watched)) {
        waiting.push(event(store, change, settings.fullDocument));
        if (invalidates(change, watched)) {
          over = true;
          waiting.push(invalidateEvent(change));
        }
      }
    }
  };
  return {
    next() {
      for (let found = advance(); found !== null; found = advance()) {
        const id = found.get('_id') as Doc;
        for (const document of stages([found])) {
          if (!sameToken(document.get('_id'), id)) {
            throw new DbError(
              280,
              'Encountered an event whose _id field, which contains the resume token, was modified by the pipeline. Modifying the _id field of an event makes it impossible to resume the stream from that point. Only transformations that retain the unmodified _id field are allowed.',
              {
                labels: ['NonResumableChangeStreamError'],
              },
            );
          }
          token = id;
          return document;
        }
        token = id;
      }
      if (!over) token = makeToken(position, 'place');
      return null;
    },
    resumeToken: () => token,
    isOver: () => over && waiting.length === 0,
    // A getMore that waits must not outlive its cursor.
    close: () => wake?.(),
    waitForMore: (waitMs, signal) =>
      new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          stop();
          wake = null;
          signal.removeEventListener('abort', done);
          resolve();
        };
        wake = done;
        const stop = store.changes.listen(done);
        const timer = setTimeout(done, waitMs);
        signal.addEventListener('abort', done);
      }),
  };
}

function sameToken(value: Value, token: Doc): boolean {
  return isDoc(value) && value.get('_data') === token.get('_data');
}

function isWatched(change: Change, watched: Watched): boolean {
  if (change.collection.startsWith('system.')) return false;
  if (watched.database === null) {
    return !['admin', 'local', 'config'].includes(change.database);
  }
  if (change.database !== watched.database) return false;
  if (watched.collection === null || change.kind === 'dropDatabase') {
    return watched.collection === null || change.kind !== 'dropDatabase';
  }
  if (change.collection === watched.collection) return true;
  const { to } = change;
  return to?.get('db') === watched.database && to.get('coll') === watched.collection;
}

function invalidates(change: Change, watched: Watched): boolean {
  if (watched.database === null) return false;
  if (watched.collection === null) return change.kind === 'dropDatabase';
  return change.kind === 'drop' || change.kind === 'rename' || change.kind === 'dropDatabase';
}

function event(store: Store, change: Change, fullDocument: string): Doc {
  const out: Doc = new Map();
  if (change.txnNumber) out.set('txnNumber', change.txnNumber);
  if (change.lsid) out.set('lsid', new Map([...change.lsid, ['uid', NOBODY]]));
  if (change.to) out.set('to', change.to);
  out.set('_id', makeToken(change.sequence, 'event'));
  out.set('operationType', change.kind);
  out.set('clusterTime', change.time);
  if (change.document) out.set('fullDocument', change.document);
  if (change.kind === 'update' && fullDocument === 'updateLookup') {
    out.set('fullDocument', lookUp(store, change));
  }
  const namespace = doc(['db', change.database]);
  if (change.kind !== 'dropDatabase') namespace.set('coll', change.collection);
  out.set('ns', namespace);
  if (change.documentId !== undefined) out.set('documentKey', doc(['_id', change.documentId]));
  if (change.updateDescription) out.set('updateDescription', change.updateDescription);
  return out;
}

/** The document as it is now, or null if it is gone. */
function lookUp(store: Store, change: Change): Doc | null {
  const collection = store.catalogue.collection(change.database, change.collection);
  const recordId = collection?.findById(change.documentId);
  return recordId === undefined ? null : (collection!.records.get(recordId) ?? null);
}

function invalidateEvent(change: Change): Doc {
  return doc(
    ['_id', makeToken(change.sequence, 'invalidate')],
    ['operationType', 'invalidate'],
    ['clusterTime', change.time],
  );
}
