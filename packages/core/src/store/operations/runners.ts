/** Runner processes: who lives. `heartbeatAt` is the database's clock; silences of all are kept by presence.ts. */
import type { UpdateFilter } from 'mongodb';
import type { RunnerRecord } from '../../model/run.js';
import type { RunnerDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { literal, NOW } from '../task-transitions.js';
import { byId } from '../unmoving.js';
import { notePresence } from './presence.js';
import { repeatUpsert } from './repeat-upsert.js';

/** A record without a heartbeat goes after a day. */
const keptMs = 24 * 3_600_000;

/** What a newcomer, whose own pauses nobody knows yet, takes for one of the fleet. */
const leastSilenceMs = 1_000;

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
  };
  await notePresence(context, leastSilenceMs);
  await repeatUpsert(() =>
    context.collections.runners.updateOne(
      { _id: id },
      [
        { $set: { startedAt: NOW, heartbeatAt: NOW, expireAt: expiry } },
        { $replaceWith: { $mergeObjects: ['$$ROOT', literal(fields)] } },
      ] as unknown as UpdateFilter<RunnerDocument>,
      { upsert: true },
    ),
  );
}

/**
 * A record that is gone is made again with what is known here: that the runner lives. First the fleet was heard, then the
 * runner, so that one that comes back after a silence stands there with a later instant than its end.
 */
export async function heartbeatRunner(
  context: StoreContext,
  runnerId: string,
  state: RunnerRecord['state'],
  everyMs: number,
): Promise<void> {
  await notePresence(context, everyMs);
  const kept = (field: keyof RunnerDocument, otherwise: unknown) => ({
    [field]: { $ifNull: [`$${field}`, otherwise] },
  });
  await repeatUpsert(() =>
    context.collections.runners.updateOne(
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
          },
        },
        { $set: { heartbeatAt: NOW, expireAt: expiry, state: literal(state) } },
      ] as unknown as UpdateFilter<RunnerDocument>,
      { upsert: true },
    ),
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
  // Those that are heard meanwhile move in the index of heartbeats: sorted by it, one could be left out.
  const found = await context.collections.runners.find({}, { hint: byId }).toArray();
  found.sort((one, other) => other.heartbeatAt.getTime() - one.heartbeatAt.getTime());
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
