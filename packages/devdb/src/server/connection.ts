/** One client connection: cuts its bytes into messages, runs them one after the other, writes the replies. */
import type { Socket } from 'node:net';
import type { ClientState } from '../commands/command.js';
import { dispatch, errorReply } from '../commands/dispatch.js';
import { DbError } from '../errors.js';
import type { ServerState } from '../state/server-state.js';
import {
  buildReply,
  type FaultyRequest,
  FrameReader,
  parseRequest,
  type Request,
  WireError,
} from './wire.js';

/** Unread requests above this stop the reading of more (a client that sends without waiting). */
const MAX_QUEUED = 64;

/** Serves a socket until it closes. `onClose` is called once. */
export function serveConnection(
  server: ServerState,
  socket: Socket,
  connectionId: number,
  onClose: () => void,
): void {
  const frames = new FrameReader();
  const closed = new AbortController();
  const client: ClientState = { connectionId, appName: null, signal: closed.signal };
  const queue: (Request | FaultyRequest)[] = [];
  let running = false;
  let gone = false;

  const end = () => {
    if (gone) return;
    gone = true;
    queue.length = 0;
    closed.abort();
    socket.destroy();
    onClose();
  };

  const runQueue = async () => {
    running = true;
    for (let request = queue.shift(); request !== undefined && !gone; request = queue.shift()) {
      const outcome =
        'fault' in request
          ? { reply: errorReply(request.fault) }
          : await dispatch(server, client, request.body);
      if (gone) break;
      if ('closeConnection' in outcome) {
        end();
        break;
      }
      if (socket.isPaused() && queue.length < MAX_QUEUED / 2) socket.resume();
      if (!('fault' in request) && !request.expectsReply) continue;
      if (!socket.write(encodeReply(request, outcome.reply))) await drained(socket);
    }
    running = false;
  };

  socket.setNoDelay(true);
  socket.on('data', (chunk) => {
    try {
      frames.push(chunk);
      for (let message = frames.next(); message !== null; message = frames.next()) {
        queue.push(parseRequest(message));
      }
    } catch (error) {
      // Where the framing is broken there is no telling where the next message starts.
      if (error instanceof WireError || error instanceof RangeError) return end();
      throw error;
    }
    if (queue.length >= MAX_QUEUED) socket.pause();
    if (!running) void runQueue();
  });
  socket.on('error', end);
  socket.on('close', end);
}

/** A reply that cannot be encoded or is too large becomes an error reply. */
function encodeReply(
  request: Request | FaultyRequest,
  reply: Parameters<typeof buildReply>[1],
): Buffer {
  try {
    return buildReply(request, reply);
  } catch (error) {
    const known = error instanceof DbError ? error : new DbError(1, String(error));
    return buildReply(request, errorReply(known));
  }
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done);
      socket.off('close', done);
      resolve();
    };
    socket.on('drain', done);
    socket.on('close', done);
  });
}
