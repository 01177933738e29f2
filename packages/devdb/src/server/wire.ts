/**
 * The MongoDB wire protocol: OP_MSG both ways, and OP_QUERY for the first handshake of older drivers.
 * Every length that a peer states is checked before it is used; a lie is a WireError and costs that connection only.
 */
import { DbError } from '../errors.js';
import { decodeDocument } from '../values/decode.js';
import { encodeDocument } from '../values/encode.js';
import type { Doc } from '../values/value.js';

/** MongoDB's `maxMessageSizeBytes`. */
export const MAX_MESSAGE_BYTES = 48_000_000;

const HEADER_BYTES = 16;
const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;

const CHECKSUM_PRESENT = 1 << 0;
const MORE_TO_COME = 1 << 1;
/** Bits 0 to 15 must be understood by the receiver; the upper ones may be ignored. */
const REQUIRED_BITS = 0xffff;

/** The peer broke the protocol; its connection is closed without an answer. */
export class WireError extends Error {}

/** One command as it came from the wire. */
export interface Request {
  readonly requestId: number;
  readonly opCode: 'msg' | 'query';
  /** The command with its document sequences folded in as arrays. */
  readonly body: Doc;
  /** False for `w: 0` writes: the client reads no answer. */
  readonly expectsReply: boolean;
}

/** A whole message whose documents cannot be read: it is answered with the error. */
export interface FaultyRequest {
  readonly requestId: number;
  readonly opCode: 'msg' | 'query';
  readonly fault: DbError;
}

/** Collects bytes of one connection and cuts them into whole messages. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #buffered = 0;

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
  }

  /** The next whole message, or null until more bytes have come. Throws WireError on an impossible length. */
  next(): Buffer | null {
    if (this.#buffered < HEADER_BYTES) return null;
    if (this.#chunks[0]!.length < HEADER_BYTES) this.#join();
    const length = this.#chunks[0]!.readInt32LE(0);
    if (length < HEADER_BYTES || length > MAX_MESSAGE_BYTES) {
      throw new WireError(
        `message length ${length} is outside ${HEADER_BYTES}..${MAX_MESSAGE_BYTES}`,
      );
    }
    if (this.#buffered < length) return null;
    if (this.#chunks[0]!.length < length) this.#join();
    const head = this.#chunks[0]!;
    const message = head.subarray(0, length);
    if (head.length === length) this.#chunks.shift();
    else this.#chunks[0] = head.subarray(length);
    this.#buffered -= length;
    return message;
  }

  #join(): void {
    this.#chunks = [Buffer.concat(this.#chunks)];
  }
}

/** Reads one whole message. Throws WireError on anything but a well-formed OP_MSG or OP_QUERY. */
export function parseRequest(message: Buffer): Request | FaultyRequest {
  const requestId = message.readInt32LE(4);
  const opCode = message.readInt32LE(12);
  try {
    if (opCode === OP_MSG) return parseMsg(message, requestId);
    if (opCode === OP_QUERY) return parseQuery(message, requestId);
  } catch (error) {
    if (!(error instanceof DbError)) throw error;
    return { requestId, opCode: opCode === OP_MSG ? 'msg' : 'query', fault: error };
  }
  throw new WireError(`operation code ${opCode} is not supported; expected OP_MSG or OP_QUERY`);
}

function parseMsg(message: Buffer, requestId: number): Request {
  if (message.length < HEADER_BYTES + 4 + 1 + 5) throw new WireError('truncated OP_MSG');
  const flags = message.readUInt32LE(HEADER_BYTES);
  if ((flags & REQUIRED_BITS & ~(CHECKSUM_PRESENT | MORE_TO_COME)) !== 0) {
    throw new WireError(`unknown required OP_MSG flags ${flags.toString(2)}`);
  }
  const end = message.length - (flags & CHECKSUM_PRESENT ? 4 : 0);
  let offset = HEADER_BYTES + 4;
  let body: Doc | undefined;
  const sequences: [string, Doc[]][] = [];
  while (offset < end) {
    const kind = message[offset]!;
    offset += 1;
    if (kind === 0) {
      if (body !== undefined) throw new WireError('OP_MSG with two body sections');
      const bytes = cut(message, offset, end, 'body');
      body = decodeDocument(bytes);
      offset += bytes.length;
    } else if (kind === 1) {
      const section = cut(message, offset, end, 'document sequence');
      sequences.push(parseSequence(section));
      offset += section.length;
    } else {
      throw new WireError(`unknown OP_MSG section kind ${kind}`);
    }
  }
  if (body === undefined) throw new WireError('OP_MSG without a body section');
  for (const [name, documents] of sequences) {
    if (body.has(name))
      throw new WireError(`document sequence '${name}' repeats a field of the body`);
    body.set(name, documents);
  }
  return { requestId, opCode: 'msg', body, expectsReply: (flags & MORE_TO_COME) === 0 };
}

/** The length-prefixed piece at `offset`, checked to lie before `end`. */
function cut(message: Buffer, offset: number, end: number, what: string): Buffer {
  if (offset + 5 > end) throw new WireError(`truncated ${what}`);
  const length = message.readInt32LE(offset);
  if (length < 5 || offset + length > end)
    throw new WireError(`${what} of ${length} bytes overruns its message`);
  return message.subarray(offset, offset + length);
}

function parseSequence(section: Buffer): [string, Doc[]] {
  const nameEnd = section.indexOf(0, 4);
  if (nameEnd < 0) throw new WireError('document sequence without a name');
  const name = section.toString('utf8', 4, nameEnd);
  const documents: Doc[] = [];
  for (let offset = nameEnd + 1; offset < section.length; ) {
    const bytes = cut(section, offset, section.length, 'document');
    documents.push(decodeDocument(bytes));
    offset += bytes.length;
  }
  return [name, documents];
}

function parseQuery(message: Buffer, requestId: number): Request {
  const nameEnd = message.indexOf(0, HEADER_BYTES + 4);
  if (nameEnd < 0) throw new WireError('OP_QUERY without a collection name');
  const name = message.toString('utf8', HEADER_BYTES + 4, nameEnd);
  if (!name.endsWith('.$cmd')) throw new WireError('OP_QUERY is supported for the handshake only');
  const bytes = cut(message, nameEnd + 1 + 8, message.length, 'OP_QUERY command');
  const outer = decodeDocument(bytes);
  const inner = outer.get('$query') ?? outer.get('query');
  const body = inner instanceof Map ? inner : outer;
  if (!body.has('$db')) body.set('$db', name.slice(0, -'.$cmd'.length));
  return { requestId, opCode: 'query', body, expectsReply: true };
}

let lastReplyId = 0;

/** The bytes of the answer to `request`. */
export function buildReply(request: Pick<Request, 'requestId' | 'opCode'>, reply: Doc): Buffer {
  const body = encodeDocument(reply);
  const isMsg = request.opCode === 'msg';
  const prefix = isMsg ? 5 : 20;
  const message = Buffer.allocUnsafe(HEADER_BYTES + prefix + body.length);
  lastReplyId = (lastReplyId + 1) & 0x7fffffff;
  message.writeInt32LE(message.length, 0);
  message.writeInt32LE(lastReplyId, 4);
  message.writeInt32LE(request.requestId, 8);
  message.writeInt32LE(isMsg ? OP_MSG : OP_REPLY, 12);
  message.fill(0, HEADER_BYTES, HEADER_BYTES + prefix);
  if (!isMsg) {
    // responseFlags 8 = AwaitCapable, cursorId 0, startingFrom 0, numberReturned 1
    message.writeInt32LE(8, HEADER_BYTES);
    message.writeInt32LE(1, HEADER_BYTES + 16);
  }
  message.set(body, HEADER_BYTES + prefix);
  return message;
}

/** The bytes of a command in one OP_MSG, as a client sends it. */
export function buildRequest(requestId: number, body: Doc): Buffer {
  const message = buildReply({ requestId: 0, opCode: 'msg' }, body);
  message.writeInt32LE(requestId, 4);
  return message;
}
