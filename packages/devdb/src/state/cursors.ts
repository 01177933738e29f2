import { randomBytes } from 'node:crypto';
import { DbError } from '../errors.js';
import { EncodedDocument, encodeDocument } from '../values/encode.js';
import { type Doc, doc, Long } from '../values/value.js';

/** Where a cursor's documents come from. */
export interface DocumentSource {
  /** The next document, or null at the end (of what there is now, if the source can grow). */
  next(): Doc | null;
  /** Whether there is certainly nothing more; a source that would have to look says false. */
  isAtEnd?(): boolean;
  /** Called before each further batch; throws if what it reads is gone. */
  checkAlive?(): void;
  /** Called between two batches: others may write now. */
  pause?(): void;
  /** Called once when the cursor goes. */
  close?(): void;
  /** Of a source that can grow: resolves when there may be more, or at the end of `waitMs`. */
  waitForMore?(waitMs: number, signal: AbortSignal): Promise<void>;
  /** A source that can grow may also be over (e.g. after an invalidate event). */
  isOver?(): boolean;
  /** Goes into each batch of a change stream. */
  resumeToken?(): Doc;
}

/** An open cursor. */
export interface OpenCursor {
  readonly id: Long;
  readonly namespace: string;
  readonly source: DocumentSource;
  /** Session and transaction that opened it: getMore must come from the same. */
  readonly session: string | null;
  readonly txnNumber: bigint | null;
  readonly noTimeout: boolean;
  readonly isTailable: boolean;
  readonly awaitsData: boolean;
  /** The command that opened it, for diagnostics. */
  readonly command: Doc;
  lastUsedMs: number;
  busy: boolean;
  killed: boolean;
  /** A document that did not fit into the last batch. */
  held: Doc | null;
}

/** As in MongoDB: an idle cursor is closed after this time. */
export const CURSOR_TIMEOUT_MS = 10 * 60 * 1000;

/** How many cursors may be open at once. */
const MAX_CURSORS = 10_000;

/** A batch ends before it would be larger than this. */
const MAX_BATCH_BYTES = 16 * 1024 * 1024;

/** All open cursors of a server. */
export class Cursors {
  readonly #open = new Map<string, OpenCursor>();

  constructor(readonly nowMs: () => number) {}

  get count(): number {
    return this.#open.size;
  }

  open(
    cursor: Pick<OpenCursor, 'namespace' | 'source' | 'session' | 'txnNumber' | 'command'> &
      Partial<Pick<OpenCursor, 'noTimeout' | 'isTailable' | 'awaitsData'>>,
  ): OpenCursor {
    if (this.#open.size >= MAX_CURSORS) {
      cursor.source.close?.();
      throw new DbError(
        99,
        `too many open cursors: at most ${MAX_CURSORS} on this development server`,
      );
    }
    const opened: OpenCursor = {
      noTimeout: false,
      isTailable: false,
      awaitsData: false,
      ...cursor,
      id: randomId(),
      lastUsedMs: this.nowMs(),
      busy: false,
      killed: false,
      held: null,
    };
    this.#open.set(opened.id.toString(), opened);
    return opened;
  }

  get(id: Long): OpenCursor | undefined {
    return this.#open.get(id.toString());
  }

  close(cursor: OpenCursor): void {
    if (!this.#open.delete(cursor.id.toString())) return;
    cursor.killed = true;
    cursor.source.close?.();
  }

  closeWhere(condition: (cursor: OpenCursor) => boolean): void {
    for (const cursor of [...this.#open.values()]) if (condition(cursor)) this.close(cursor);
  }

  /** Closes what nobody has asked for in ten minutes. */
  expire(): void {
    const before = this.nowMs() - CURSOR_TIMEOUT_MS;
    this.closeWhere((cursor) => !cursor.busy && !cursor.noTimeout && cursor.lastUsedMs < before);
  }
}

function randomId(): Long {
  const bytes = randomBytes(8);
  const id = new Long(bytes.readInt32LE(0), bytes.readInt32LE(4) & 0x7fffffff);
  return id.isZero() ? Long.ONE : id;
}

/**
 * A document of a batch: encoded already, since its size had to be known. A reply holds it like any other value.
 */
export type BatchDocument = Doc;

/** The next documents of a source: up to `limit` of them and up to the size of a message. */
export function takeBatch(
  source: DocumentSource,
  limit: number,
  held: Doc | null = null,
): { documents: BatchDocument[]; held: Doc | null; ended: boolean } {
  const documents: BatchDocument[] = [];
  let bytes = 0;
  let next = held;
  while (documents.length < limit) {
    const document = next ?? source.next();
    next = null;
    if (document === null) return { documents, held: null, ended: true };
    const encoded = encodeDocument(document);
    const size = encoded.length;
    if (documents.length > 0 && bytes + size > MAX_BATCH_BYTES) {
      return { documents, held: document, ended: false };
    }
    bytes += size;
    // The encoder knows this class, the type of values does not.
    documents.push(new EncodedDocument(encoded) as unknown as BatchDocument);
  }
  return { documents, held: null, ended: false };
}

/** A source over documents that are all there. */
export function listSource(documents: readonly Doc[]): DocumentSource {
  let position = 0;
  return {
    next: () => documents[position++] ?? null,
    isAtEnd: () => position >= documents.length,
  };
}

/** A source over an iterator. */
export function iteratorSource(documents: Iterator<Doc>): DocumentSource {
  let ahead: IteratorResult<Doc> | null = null;
  return {
    next() {
      const step = ahead ?? documents.next();
      ahead = null;
      return step.done ? null : step.value;
    },
    isAtEnd() {
      ahead ??= documents.next();
      return ahead.done === true;
    },
    close() {
      documents.return?.();
    },
  };
}

/** The `cursor` member of a reply. */
export function cursorReply(
  batchName: 'firstBatch' | 'nextBatch',
  documents: Doc[],
  id: Long,
  namespace: string,
  extra: Doc = new Map(),
): Doc {
  return doc([
    'cursor',
    new Map([[batchName, documents], ...extra, ['id', id], ['ns', namespace]]),
  ]);
}
