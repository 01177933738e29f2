/**
 * A TCP proxy that can be cut and slowed down: the network between one runner and its database.
 *
 * Cut: no byte passes in either direction and nothing is closed, as when a cable is pulled; new connections are accepted
 * and hear nothing. What was on its way when the cut ends is delivered, as TCP would. `refuse` closes instead.
 */
import { connect, createServer } from 'node:net';

/**
 * @param {{ host: string, port: number }} target
 * @returns {Promise<TcpProxy>}
 */
export async function startProxy(target) {
  const proxy = new TcpProxy(target);
  await proxy.listen();
  return proxy;
}

class TcpProxy {
  #server;
  #target;
  #sockets = new Set();
  /** Sockets that wait for the end of a cut. */
  #held = new Set();
  #isCut = false;
  #isRefusing = false;
  #delayMs = 0;
  port = 0;

  /** @param {{ host: string, port: number }} target */
  constructor(target) {
    this.#target = target;
    this.#server = createServer((inner) => this.#accept(inner));
  }

  /** @returns {Promise<void>} */
  listen() {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(0, '127.0.0.1', () => {
        const address = this.#server.address();
        this.port = typeof address === 'object' && address !== null ? address.port : 0;
        resolve();
      });
    });
  }

  /** Holds everything back until {@link heal}. */
  cut() {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Closes all connections and every new one until {@link heal}. */
  refuse() {
    this.#isRefusing = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Every piece is passed on this much later, in each direction. @param {number} ms */
  delay(ms) {
    this.#delayMs = ms;
  }

  /** Ends cut, refusal and delay. */
  heal() {
    this.#isCut = false;
    this.#isRefusing = false;
    this.#delayMs = 0;
    for (const socket of this.#sockets) socket.resume();
    for (const open of this.#held) open();
    this.#held.clear();
  }

  /** @returns {Promise<void>} */
  async close() {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(inner) {
    if (this.#isRefusing) {
      inner.destroy();
      return;
    }
    const outer = connect(this.#target);
    this.#join(inner, outer);
    this.#join(outer, inner);
  }

  #join(from, to) {
    this.#sockets.add(from);
    if (this.#isCut) from.pause();
    // Pieces keep their order: each waits for the one before it.
    let last = Promise.resolve();
    from.setNoDelay(true);
    from.on('data', (piece) => {
      last = last.then(() => this.#pass(piece, to));
    });
    from.on('error', () => {});
    from.on('close', () => {
      this.#sockets.delete(from);
      void last.then(() => to.destroy());
    });
  }

  async #pass(piece, to) {
    if (this.#delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.#delayMs));
    // Read before the cut, not passed on before its end.
    if (this.#isCut) await new Promise((resolve) => this.#held.add(() => resolve(undefined)));
    if (!to.destroyed) to.write(piece);
  }
}
