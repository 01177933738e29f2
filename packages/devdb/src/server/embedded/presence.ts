import { connect, type Socket } from 'node:net';
import { decodeDocument } from '../../values/decode.js';
import { type Doc, doc, int32 } from '../../values/value.js';
import { buildRequest, FrameReader } from '../wire.js';

/**
 * A connection that says "somebody is here": while it is open the server does not end for idleness, and its end tells that
 * the server is gone.
 */
export interface Presence {
  /** Resolves when the connection has ended, for whatever reason. */
  readonly ended: Promise<void>;
  close(): void;
}

/** How long the server may take to answer the first question. */
const ANSWER_MS = 5000;

/**
 * Connects to the server at a loopback port and makes sure that it is the process `pid` that answers.
 * Rejects if nobody or somebody else does.
 */
export async function openPresence(port: number, pid: number): Promise<Presence> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.setNoDelay(true);
  try {
    const status = await ask(socket, doc(['serverStatus', int32(1)], ['$db', 'admin']));
    if (String(status.get('pid')) !== String(pid)) {
      throw new Error(`another process answers at port ${port}`);
    }
  } catch (error) {
    socket.destroy();
    throw error;
  }
  // The handle alone must not keep a process alive.
  socket.unref();
  socket.on('error', () => {});
  const ended = new Promise<void>((resolve) => {
    socket.on('close', () => resolve());
  });
  return { ended, close: () => socket.destroy() };
}

function ask(socket: Socket, command: Doc): Promise<Doc> {
  return new Promise((resolve, reject) => {
    const frames = new FrameReader();
    const timer = setTimeout(() => fail(new Error('no answer')), ANSWER_MS);
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    socket.once('error', fail);
    socket.once('close', () => fail(new Error('closed')));
    socket.once('connect', () => socket.write(buildRequest(1, command)));
    socket.on('data', (chunk) => {
      frames.push(chunk);
      const message = frames.next();
      if (message === null) return;
      clearTimeout(timer);
      socket.removeAllListeners('data');
      // Sixteen bytes of header, four of flags, one of the section's kind.
      resolve(decodeDocument(message.subarray(21)));
    });
  });
}
