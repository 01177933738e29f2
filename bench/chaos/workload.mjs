/** What applications ask for meanwhile: triggers with keys (some by two clients at once), cancellations, a backfill. */
import { FlowClient, isFlowError } from '@flowline/core';
import { between, oneOf } from './random.mjs';

const dags = ['diamond-top', 'diamond-top', 'flaky', 'doomed', 'long', 'long', 'fragile', 'fan'];
const backfillFrom = new Date('2026-03-01T00:00:00Z');
const backfillTo = new Date('2026-04-10T00:00:00Z');

/** A call that may be repeated is repeated until the database takes it. */
export async function insist(call, signal) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (!isFlowError(error) || !error.retryable) throw error;
      if (signal?.aborted || tries > 300) return undefined;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

/**
 * Asks until `signal` aborts. What was acknowledged is remembered: it must be in the history at the end.
 * @param {{ connection: { uri: string, database: string }, store: any, random: () => number, signal: AbortSignal,
 *   withBlocking: boolean, withBackfill: boolean }} options
 */
export async function askForWork({
  connection,
  store,
  random,
  signal,
  withBlocking,
  withBackfill,
}) {
  const clients = [new FlowClient(connection), new FlowClient(connection)];
  /** @type {Map<string, string>} */
  const acknowledged = new Map();
  const cancelled = new Set();
  const violations = [];
  let count = 0;
  const openLately = [];

  async function trigger(dag, key) {
    const asking = random() < 0.2 ? clients : [clients[0]];
    const answers = await Promise.all(
      asking.map((client) =>
        insist(() => client.trigger(dag, { key, params: { n: count } }), signal),
      ),
    );
    for (const answer of answers) {
      if (answer === undefined) continue;
      const before = acknowledged.get(`${dag}/${key}`);
      if (before !== undefined && before !== answer.runId)
        violations.push(`the key ${key} of ${dag} gave two runs: ${before} and ${answer.runId}`);
      acknowledged.set(`${dag}/${key}`, answer.runId);
      openLately.push(answer.runId);
    }
  }

  async function work() {
    if (withBlocking) await trigger('blocking', 'once');
    const backfill = withBackfill
      ? await insist(() =>
          store.createBackfill({
            dagId: 'daily',
            from: backfillFrom,
            to: backfillTo,
            maxActive: 3,
          }),
        )
      : undefined;
    while (!signal.aborted) {
      count += 1;
      await trigger(oneOf(random, dags), `key-${count}`);
      if (random() < 0.12 && openLately.length > 0) {
        const runId = oneOf(random, openLately.splice(-5));
        const answer = await insist(() => clients[1].cancel(runId, 'chaos'), signal);
        if (answer !== undefined && !answer.closed) cancelled.add(runId);
      }
      await pause(between(random, 400, 1_400), signal);
    }
    return backfill;
  }

  try {
    const backfill = await work();
    return { acknowledged, cancelled, violations, backfillId: backfill?.id ?? null };
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

/** @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (signal?.aborted) done();
    else signal?.addEventListener('abort', done, { once: true });
  });
}

/**
 * What is awaited, or undefined when it takes longer; no timer is left behind.
 * @template T @param {number} ms @param {Promise<T>} awaited @returns {Promise<T | undefined>}
 */
export async function within(ms, awaited) {
  const over = new AbortController();
  try {
    return await Promise.race([awaited, pause(ms, over.signal)]);
  } finally {
    over.abort();
  }
}
