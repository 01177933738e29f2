/**
 * The effects of the jobs: each attempt appends what it did to one file, in one write. What the database says afterwards is
 * compared with it.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { JobContext } from '@flowline/core';

/** What every job returns, so that its dependents can tell whose result they were given. */
export interface Effect {
  readonly key: string;
  readonly fence: number;
}

const file = process.env.CHAOS_JOURNAL;

/** All processes of one machine share this clock. */
const monotonicMs = () => Number(process.hrtime.bigint() / 1_000n) / 1_000;

function append(ctx: JobContext, event: string, more: object): void {
  if (file === undefined) return;
  const { runId, dag, job, attempt, fence, idempotencyKey: key } = ctx;
  const line = {
    event,
    at: monotonicMs(),
    pid: process.pid,
    runId,
    dag,
    job,
    attempt,
    fence,
    key,
    ...more,
  };
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

/** Runs one attempt between its two lines; `end` is written by whoever reaches the end of the work and by nobody else. */
export async function effect(
  ctx: JobContext,
  inputs: readonly Effect[],
  work: () => Promise<void> | void,
): Promise<Effect> {
  append(ctx, 'start', { inputs: inputs.map(({ key, fence }) => ({ key, fence })) });
  try {
    await work();
  } catch (error) {
    append(ctx, 'stop', { error: (error as Error).name });
    throw error;
  }
  append(ctx, 'end', {});
  return { key: ctx.idempotencyKey, fence: ctx.fence };
}

/** Waits; ends early with the reason when the attempt is told to stop. */
export async function waitFor(ctx: JobContext, ms: number): Promise<void> {
  await pause(ms, undefined, { signal: ctx.signal }).catch(() => ctx.signal.throwIfAborted());
}
