import { setTimeout as delay } from 'node:timers/promises';

/** Waits; throws the signal's reason (the name of the signal) when it is interrupted. */
export async function pauseFor(ms: number, interrupted: AbortSignal): Promise<void> {
  interrupted.throwIfAborted();
  try {
    await delay(ms, undefined, { signal: interrupted });
  } catch (error) {
    interrupted.throwIfAborted();
    throw error;
  }
}
