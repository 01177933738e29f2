/**
 * What happened to documents and collections, newest last: the source of change streams. The log is capped by count and by
 * bytes; a stream that asks for an event that was dropped gets 286 ChangeStreamHistoryLost. It is stored with the writes it
 * tells of, so that resume tokens survive a restart.
 */
import { decodeDocument } from '../values/decode.js';
import { type Encodable, EncodedDocument, encodeDocument } from '../values/encode.js';
import { type Binary, type Doc, Long, type Timestamp, type Value } from '../values/value.js';
import type { DiskChange } from './disk/disk-change.js';

export type ChangeKind =
  | 'insert'
  | 'update'
  | 'replace'
  | 'delete'
  | 'drop'
  | 'rename'
  | 'dropDatabase';

/** One event, as it is kept. */
export interface Change {
  /** Grows by one with each event; the body of a resume token. */
  readonly sequence: number;
  readonly time: Timestamp;
  readonly kind: ChangeKind;
  readonly database: string;
  readonly collection: string;
  readonly uuid: Binary | null;
  readonly documentId?: Value;
  /** The document after an insert or a replacement. */
  readonly document?: Doc;
  /** `{ updatedFields, removedFields }` of an update. */
  readonly updateDescription?: Doc;
  /** The new name of a renamed collection. */
  readonly to?: Doc;
  readonly lsid?: Doc;
  readonly txnNumber?: Long;
}

const MAX_EVENTS = 20_000;
const MAX_BYTES = 32 * 1024 * 1024;

/** The capped log. Events are appended in the order in which they became visible. */
export class ChangeLog {
  #events: { change: Change; bytes: number }[] = [];
  /** Index of the oldest kept event within #events: the front is cut in larger pieces. */
  #start = 0;
  #bytes = 0;
  #lastSequence = 0;
  readonly #listeners = new Set<() => void>();

  get lastSequence(): number {
    return this.#lastSequence;
  }

  /** The sequence before the oldest kept event. */
  get horizon(): number {
    return this.#events[this.#start]?.change.sequence === undefined
      ? this.#lastSequence
      : this.#events[this.#start]!.change.sequence - 1;
  }

  /**
   * Appends an event; `stored` receives what has to reach the disk with it (the dropped ones too), null where there is no disk.
   * `encoded` are the bytes of the event's document, where they are known already.
   */
  append(
    event: Omit<Change, 'sequence'>,
    stored: DiskChange[] | null,
    encoded: Uint8Array | null = null,
  ): Change {
    const change: Change = { ...event, sequence: this.#lastSequence + 1 };
    this.#lastSequence = change.sequence;
    if (stored === null) this.#keep(change, sizeOf(change, encoded));
    else {
      const bytes = encodeDocument(toDocument(change, encoded));
      stored.push({ table: 'changes', key: change.sequence, value: bytes });
      this.#keep(change, bytes.length);
    }
    while (this.#events.length - this.#start > MAX_EVENTS || this.#bytes > MAX_BYTES) {
      const dropped = this.#events[this.#start]!;
      this.#start += 1;
      this.#bytes -= dropped.bytes;
      stored?.push({ table: 'changes', key: dropped.change.sequence, value: null });
    }
    if (this.#start > MAX_EVENTS) {
      this.#events = this.#events.slice(this.#start);
      this.#start = 0;
    }
    for (const listener of [...this.#listeners]) listener();
    return change;
  }

  /** Takes an event from disk at start-up; must come in order. */
  load(bytes: Uint8Array, sequence: number): Change {
    const change = fromDocument(decodeDocument(bytes), sequence);
    this.#lastSequence = sequence;
    this.#keep(change, bytes.length);
    return change;
  }

  #keep(change: Change, bytes: number): void {
    this.#events.push({ change, bytes });
    this.#bytes += bytes;
  }

  /** The event right after `sequence`, or undefined if there is none yet. */
  after(sequence: number): Change | undefined {
    const oldest = this.horizon + 1;
    const offset = Math.max(sequence + 1, oldest) - oldest;
    return this.#events[this.#start + offset]?.change;
  }

  /** The sequence to start after so as to see all events at or after a cluster time. */
  sequenceBefore(time: Timestamp): number {
    let low = this.#start;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#events[middle]!.change.time.lessThan(time)) low = middle + 1;
      else high = middle;
    }
    const event = this.#events[low];
    return event === undefined ? this.#lastSequence : event.change.sequence - 1;
  }

  /** Calls `listener` after each append until the returned function is called. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** About what an event takes, for the cap: its variable parts, and some for the rest. */
function sizeOf({ document, updateDescription }: Change, encoded: Uint8Array | null): number {
  const image = document ? (encoded ?? encodeDocument(document)).length : 0;
  return 200 + image + (updateDescription ? encodeDocument(updateDescription).length : 0);
}

function toDocument(change: Change, encoded: Uint8Array | null): Encodable {
  const out = new Map<string, Value | EncodedDocument>([
    ['time', change.time],
    ['kind', change.kind],
    ['database', change.database],
    ['collection', change.collection],
    ['uuid', change.uuid],
  ]);
  if (change.documentId !== undefined) out.set('documentId', change.documentId);
  if (change.document) {
    out.set('document', encoded ? new EncodedDocument(encoded) : change.document);
  }
  if (change.updateDescription) out.set('updateDescription', change.updateDescription);
  if (change.to) out.set('to', change.to);
  if (change.lsid) out.set('lsid', change.lsid);
  if (change.txnNumber) out.set('txnNumber', change.txnNumber);
  return out;
}

function fromDocument(stored: Doc, sequence: number): Change {
  const optional: Record<string, Value> = {};
  for (const name of ['documentId', 'document', 'updateDescription', 'to', 'lsid', 'txnNumber']) {
    if (stored.has(name)) optional[name] = stored.get(name);
  }
  return {
    sequence,
    time: stored.get('time') as Timestamp,
    kind: stored.get('kind') as ChangeKind,
    database: stored.get('database') as string,
    collection: stored.get('collection') as string,
    uuid: stored.get('uuid') as Binary | null,
    ...optional,
  };
}
