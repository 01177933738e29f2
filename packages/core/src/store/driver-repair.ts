/**
 * A repair of the driver (7.8.0): a command that is written to a socket which has just been closed waits for ever.
 *
 * The driver's `Connection.writeCommand` waits for `drain` when `write` returns false. A socket that was destroyed a moment ago, and
 * whose `close` event is still to come, returns false, emits no `error`, and never drains; its timeouts are gone with it. Met by the
 * connection that monitors the server, which is woken just when all connections break, the client never looks for
 * the server again: it stays "away" for good. Met by any other connection, that operation never ends.
 *
 * Here the write fails as soon as the socket is closed, as it would have failed a moment later. Where the driver's
 * inside is not what it was when this was written, nothing is touched.
 */
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { MongoNetworkError } from 'mongodb';

interface DriverConnection {
  readonly id: number | string;
  readonly address: string;
  readonly socket: Socket;
  onError(error: Error): void;
  writeCommand(...args: unknown[]): Promise<void>;
}

const repaired = Symbol.for('flowline.driver.repaired');

/** Idempotent, also for several copies of this package on one copy of the driver. */
export function repairDriver(): void {
  const prototype = connectionPrototype();
  const original = prototype?.writeCommand;
  if (prototype === null || typeof original !== 'function' || repaired in prototype) return;
  Object.defineProperty(prototype, repaired, { value: true });
  prototype.writeCommand = async function (...args) {
    const { socket } = this;
    let onClose = () => {};
    const closed = new Promise<never>((_resolve, reject) => {
      onClose = () => {
        const error = new MongoNetworkError(`connection ${this.id} to ${this.address} closed`);
        this.onError(error);
        reject(error);
      };
      socket.once('close', onClose);
    });
    try {
      if (socket.destroyed) onClose();
      return await Promise.race([closed, original.apply(this, args)]);
    } finally {
      socket.off('close', onClose);
    }
  };
}

function connectionPrototype(): DriverConnection | null {
  try {
    const load = createRequire(import.meta.url);
    const { Connection } = load('mongodb/lib/cmap/connection.js') as {
      Connection?: { prototype: DriverConnection };
    };
    return Connection?.prototype ?? null;
  } catch {
    return null;
  }
}
