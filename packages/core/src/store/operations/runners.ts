/** Runner processes: who lives. `heartbeatAt` is the database's clock; a gap in it is remembered for rescue.ts. */
import type { UpdateFilter } from 'mongodb';
import type { RunnerRecord } from '../../model/run.js';
import type { RunnerDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { literal, NOW } from '../task-transitions.js';

/** A record without a heartbeat goes after a day. */
const keptMs = 24 * 3_600_000;

const expiry = { $add: [NOW, keptMs] };

export async function registerRunner(
  context: StoreContext,
  runner: Omit<RunnerRecord, 'startedAt' | 'heartbeatAt' | 'state' | 'exit'>,
): Promise<void> {
  const { id, serveKeys, ...rest } = runner;
  const fields = {
    ...rest,
    serveKeys: [...serveKeys],
    state: 'running',
    gapMs: 0,
    resumedAt: null,
  };
  await context.collections.runners.updateOne(
    { _id: id },
    [
      { $set: { startedAt: NOW, heartbeatAt: NOW, expireAt: expiry } },
      { $replaceWith: { $mergeObjects: ['$$ROOT', literal(fields)] } },
    ] as unknown as UpdateFilter<RunnerDocument>,
    { upsert: true },
  );
}

/** A record that is gone is made again with what is known here: that the runner lives. */
export async function heartbeatRunner(
  context: StoreContext,
  runnerId: string,
  state: RunnerRecord['state'],
): Promise<void> {
  const kept = (field: keyof RunnerDocument, otherwise: unknown) => ({
    [field]: { $ifNull: [`$${field}`, otherwise] },
  });
  const sinceLast = { $subtract: [NOW, { $ifNull: ['$heartbeatAt', NOW] }] };
  const lastGap = { $ifNull: ['$gapMs', 0] };
  // A gap is remembered for twice its length, unless one about as long comes after it; the usual pause between two
  // heartbeats is replaced by the next one.
  const isRemembered = {
    $and: [
      { $lt: [sinceLast, { $multiply: [lastGap, 0.8] }] },
      {
        $lt: [{ $subtract: [NOW, { $ifNull: ['$resumedAt', NOW] }] }, { $multiply: [lastGap, 2] }],
      },
    ],
  };
  await context.collections.runners.updateOne(
    { _id: runnerId },
    [
      {
        $set: {
          ...kept('host', 'unknown'),
          ...kept('bootId', null),
          ...kept('pidNamespace', null),
          ...kept('pid', 0),
          ...kept('processStart', null),
          ...kept('serveKeys', []),
          ...kept('concurrency', 0),
          ...kept('startedAt', NOW),
          gapMs: { $cond: [isRemembered, lastGap, sinceLast] },
          resumedAt: { $cond: [isRemembered, '$resumedAt', NOW] },
        },
      },
      { $set: { heartbeatAt: NOW, expireAt: expiry, state: literal(state) } },
    ] as unknown as UpdateFilter<RunnerDocument>,
    { upsert: true },
  );
}

/** What a runner leaves that ends although tasks of it still run: for whoever rescues them. */
export async function retireRunner(
  context: StoreContext,
  runnerId: string,
  exit: string,
): Promise<void> {
  await context.collections.runners.updateOne(
    { _id: runnerId },
    { $set: { state: 'stopped', exit } },
  );
}

export async function removeRunner(context: StoreContext, runnerId: string): Promise<void> {
  await context.collections.runners.deleteOne({ _id: runnerId });
}

/** The most recently heard first. */
export async function listRunners(context: StoreContext): Promise<RunnerRecord[]> {
  const found = await context.collections.runners.find().sort({ heartbeatAt: -1 }).toArray();
  return found.map(recordOf);
}

function recordOf(document: RunnerDocument): RunnerRecord {
  return {
    id: document._id,
    host: document.host,
    bootId: document.bootId,
    pidNamespace: document.pidNamespace,
    pid: document.pid,
    processStart: document.processStart,
    serveKeys: document.serveKeys,
    concurrency: document.concurrency,
    startedAt: document.startedAt,
    heartbeatAt: document.heartbeatAt,
    state: document.state,
    exit: document.exit ?? null,
  };
}
