import { createRequire } from 'node:module';
import { Duplex, PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { repairDriver } from './driver-repair.js';

interface Writable {
  writeCommand(command: object, options: object): Promise<void>;
  readonly error?: Error;
}
const { Connection } = createRequire(import.meta.url)('mongodb/lib/cmap/connection.js') as {
  Connection: new (stream: object, options: object) => Writable;
};
const options = {
  id: 7,
  generation: 0,
  monitorCommands: false,
  hostAddress: { toString: () => 'here:1' },
  tls: false,
  logicalSessionTimeoutMinutes: 1,
};
const command = { toBin: async () => [new Uint8Array(16)] };

/** A connection on a socket that takes nothing. */
function clogged() {
  const socket = new Duplex({ highWaterMark: 8, read() {}, write() {} });
  Object.assign(socket, { setTimeout: () => {} });
  const connection = new Connection(socket, options);
  return { socket, connection };
}

const soon = <T>(promise: Promise<T>) =>
  Promise.race([
    promise.then(
      () => 'written',
      (error: Error) => error.message,
    ),
    new Promise((resolve) => setTimeout(resolve, 20_000, 'waits').unref()),
  ]);

describe('a command to a socket that is closed', () => {
  it('is refused instead of waiting for ever', async () => {
    repairDriver();
    repairDriver();
    const { socket, connection } = clogged();
    socket.destroy();
    expect(await soon(connection.writeCommand(command, { agreedCompressor: 'none' }))).toMatch(
      /connection 7 .*closed/,
    );
  });

  it('is refused too when it waits for room and the socket closes meanwhile', async () => {
    repairDriver();
    const { socket, connection } = clogged();
    const writing = soon(connection.writeCommand(command, { agreedCompressor: 'none' }));
    setImmediate(() => socket.destroy());
    expect(await writing).toMatch(/connection 7 .*closed/);
    expect(socket.listenerCount('close')).toBeLessThan(4);
  });

  it('and one to an open socket is written', async () => {
    repairDriver();
    const socket = new PassThrough();
    Object.assign(socket, { setTimeout: () => {} });
    const connection = new Connection(socket, options);
    expect(await soon(connection.writeCommand(command, { agreedCompressor: 'none' }))).toBe(
      'written',
    );
  });
});
