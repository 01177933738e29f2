/**
 * The thread that renews leases and sends the heartbeat; see keeper.ts. It knows only ids, tokens and until when to
 * renew, and has its own connection to the database.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { connectStore } from '@flowline/core/internal';
import { systemClock } from '../clock.js';
import { Loop } from '../loop.js';
import { patiently } from '../patiently.js';
import type { FromKeeper, KeeperData, KeptLease, LeaseRef, ToKeeper } from './keeper-messages.js';

const data = workerData as KeeperData;
const port = parentPort;
if (port === null) throw new Error('keeper-worker is started as a worker thread only');
const held = new Map<string, KeptLease>(data.held.map((lease) => [lease.taskId, lease]));
let state = data.state;
const post = (message: FromKeeper) => port.postMessage(message);
const failed = (error: unknown) =>
  post({ type: 'failed', message: error instanceof Error ? error.message : String(error) });

/** A renewal that comes in the last second is in time: the next try follows soon, and each waits for a server by itself. */
const longestRetryMs = Math.max(100, Math.min(500, data.renewEveryMs / 4));

const stopping = new AbortController();
let stop = async () => {};
port.on('message', (message: ToKeeper) => {
  switch (message.type) {
    case 'hold':
      held.set(message.taskId, message);
      break;
    case 'drop':
      held.delete(message.taskId);
      break;
    case 'state':
      state = message.state;
      break;
    case 'stop':
      stopping.abort();
      void stop().finally(() => port.close());
  }
});

const store = await patiently(
  () =>
    connectStore({
      ...data.connection,
      clientOptions: {
        // A connection that went silent must not outlast the lease: give it up and take another one.
        connectTimeoutMS: 3_000,
        socketTimeoutMS: Math.max(1_000, Math.min(5_000, data.leaseMs / 4)),
        heartbeatFrequencyMS: 2_000,
        maxPoolSize: 2,
        ...data.connection.clientOptions,
      },
    }),
  {
    clock: systemClock,
    random: Math.random,
    signal: stopping.signal,
    onRetry: failed,
    longestRetryMs,
  },
);

async function renew(): Promise<number> {
  const sentAt = systemClock.monotonicMs();
  // A task past its bound is stuck: its lease must lapse even though the thread that runs it cannot say so.
  const sent: LeaseRef[] = [...held.values()].filter((lease) => sentAt < lease.renewUntil);
  if (sent.length > 0) {
    const { lost, cancelRequested } = await store.renewLeases(data.runnerId, sent, data.leaseMs);
    const gone = new Set(lost);
    const flagged = new Set(cancelRequested);
    post({
      type: 'renewed',
      sentAt,
      renewed: sent.filter(({ taskId }) => !gone.has(taskId)).map(ref),
      lost: sent.filter(({ taskId }) => gone.has(taskId)).map(ref),
      cancelRequested: sent.filter(({ taskId }) => flagged.has(taskId)).map(ref),
    });
  }
  await store.heartbeatRunner(data.runnerId, state, data.renewEveryMs);
  return Math.max(0, data.renewEveryMs - (systemClock.monotonicMs() - sentAt));
}

const loop = new Loop({
  name: 'keep leases',
  clock: systemClock,
  random: Math.random,
  longestRetryMs,
  turn: renew,
  onError: failed,
});
stop = async () => {
  await loop.stop();
  await store.close();
};
if (!stopping.signal.aborted) {
  loop.start();
  post({ type: 'ready' });
} else await stop();

function ref({ taskId, token }: LeaseRef): LeaseRef {
  return { taskId, token };
}
