/**
 * Keeps a connection from being dead for ever.
 *
 * The driver (7.8) has one way to wait without end: a write to a socket that Node has destroyed but not yet reported as closed
 * waits for a `drain` that never comes. It is met when the database dies or a network breaks, in the tick in which the sockets
 * go. If it hits the monitor of the server, that server stays unknown, and every later operation fails although the database
 * is back; if it hits an operation, that one never settles.
 *
 * driver-repair.ts ends that wait where it knows the inside of the driver. Here are two bounds by public means only, for a
 * driver that it does not know and for whatever else never answers. A monitor that has asked and heard nothing for longer than
 * it may take is replaced: the client is closed and connected again, its databases and collections go on with it. An operation
 * that takes longer than `longestOperationMs` is given up as a broken connection, which whoever asked repeats.
 */
import type { MongoClient } from 'mongodb';
import { StoreError } from '../errors.js';
import type { OperationInterceptor } from './intercept.js';

const lookEveryMs = 1_000;

/** Beyond what the driver itself allows for an answer. */
const slackMs = 1_000;

/** So many looks in a row must find it overdue: a process that stood still has answers in its sockets to read first. */
const looksInARow = 2;

const longestOperationMs = 60_000;

export class ConnectionWatch {
  readonly #client: MongoClient;
  readonly #monotonicMs: () => number;
  /** When each server was asked last without having answered yet, and how long it may take. */
  readonly #asked = new Map<string, { readonly at: number; readonly boundMs: number }>();
  #overdueLooks = 0;
  #timer: NodeJS.Timeout | undefined;
  #reviving: Promise<void> | undefined;
  #isStopped = false;

  constructor(client: MongoClient, monotonicMs: () => number) {
    this.#client = client;
    this.#monotonicMs = monotonicMs;
  }

  /** True after {@link stop}: the connection is closed on purpose. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  start(): this {
    const { connectTimeoutMS, heartbeatFrequencyMS } = this.#client.options;
    this.#client.on('serverHeartbeatStarted', ({ connectionId, awaited }) => {
      // An awaited answer comes when something changes, or after the time between two heartbeats.
      const boundMs = connectTimeoutMS + (awaited ? heartbeatFrequencyMS : 0) + slackMs;
      this.#asked.set(connectionId, { at: this.#monotonicMs(), boundMs });
    });
    const answered = ({ connectionId }: { readonly connectionId: string }) =>
      this.#asked.delete(connectionId);
    this.#client.on('serverHeartbeatSucceeded', answered);
    this.#client.on('serverHeartbeatFailed', answered);
    this.#client.on('serverClosed', ({ address }) => this.#asked.delete(address));
    this.#timer = setInterval(() => this.#look(), lookEveryMs).unref();
    return this;
  }

  /** Ends the watch and closes the connection. Idempotent. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#reviving;
    await this.#client.close();
  }

  #look(): void {
    const now = this.#monotonicMs();
    const isOverdue = [...this.#asked.values()].some(({ at, boundMs }) => now - at > boundMs);
    this.#overdueLooks = isOverdue ? this.#overdueLooks + 1 : 0;
    if (this.#overdueLooks < looksInARow || this.#reviving !== undefined) return;
    this.#overdueLooks = 0;
    this.#reviving = this.#revive().finally(() => {
      this.#reviving = undefined;
    });
  }

  async #revive(): Promise<void> {
    this.#asked.clear();
    await this.#client.close().catch(() => {});
    while (!this.#isStopped) {
      try {
        await this.#client.connect();
        return;
      } catch {
        await new Promise<void>((resolve) => {
          setTimeout(resolve, lookEveryMs).unref();
        });
      }
    }
  }
}

/** Gives up an operation that takes longer than any may; see the head of this file. */
export const boundOperation: OperationInterceptor = async ({ method, collection }, run) => {
  let timer: NodeJS.Timeout | undefined;
  const bound = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const message = `The database did not answer ${method} on ${collection} within ${longestOperationMs / 1_000} s.`;
      reject(new StoreError(message, { retryable: true }));
    }, longestOperationMs).unref();
  });
  try {
    return await Promise.race([run(), bound]);
  } finally {
    clearTimeout(timer);
  }
};
