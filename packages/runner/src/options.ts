import { type MissedExpectation, OptionError } from '@flowline/core';
import type { Clock } from './clock.js';
import { systemClock } from './clock.js';

/** What a runner may be told; everything has a default. Durations are milliseconds. */
export interface RunnerOptions {
  /** How many tasks run at once in this process. Default 10. */
  readonly concurrency?: number;
  /** `false`: never leads; `only`: leads and runs no task. Default true. */
  readonly lead?: boolean | 'only';
  /** How long the right to a task lasts without renewal. Default 20,000; at least 1,000. */
  readonly leaseMs?: number;
  /** How often leases are renewed. Default a quarter of `leaseMs`. */
  readonly renewEveryMs?: number;
  /** How long a drain waits before it aborts what still runs. Default 30,000. */
  readonly drainTimeoutMs?: number;
  /** How long an aborted handler has to settle before its task is given up as stuck. Default 5,000. */
  readonly settleMs?: number;
  /** Longest and shortest time between two looks for work. Default 250 to 2,000. */
  readonly pollMs?: { readonly busy: number; readonly idle: number };
  /**
   * Called by the leader for each expectation of `expectWithin` that was not met: at least once, also when no runner served the
   * job. What it throws is logged, and it is called again later, three times in all. Nothing waits for it.
   */
  readonly onExpectationMissed?: ExpectationHook;
  readonly clock?: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random?: () => number;
  /** Receives what the runner has to say; nothing is printed. What it throws is ignored. */
  readonly log?: RunnerLog;
  /** Answers `/healthz` and `/readyz` over HTTP from start() to the end. Default: no server. */
  readonly health?: {
    /** 0 takes a free one: see `Runner.healthPort`. */
    readonly port: number;
    /** Default 127.0.0.1: this machine only. */
    readonly host?: string;
  };
}

/** What a runner calls when an expectation was not met. */
export type ExpectationHook = (missed: MissedExpectation) => unknown;

export type RunnerLog = (
  level: 'debug' | 'info' | 'warn' | 'error',
  message: string,
  fields?: Readonly<Record<string, unknown>>,
) => void;

export interface RunnerSettings {
  readonly concurrency: number;
  readonly lead: boolean | 'only';
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  readonly leadershipMs: number;
  readonly drainTimeoutMs: number;
  readonly settleMs: number;
  readonly pollMs: { readonly busy: number; readonly idle: number };
  readonly onExpectationMissed: ExpectationHook | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: RunnerLog;
  readonly health: { readonly port: number; readonly host: string } | undefined;
}

const shortestLeaseMs = 1_000;
const longestLeaseMs = 24 * 3_600_000;

/** Checks options and fills in defaults. Throws OptionError naming the field. */
export function resolveRunnerOptions(options: RunnerOptions): RunnerSettings {
  const leaseMs = whole('leaseMs', options.leaseMs ?? 20_000, shortestLeaseMs, longestLeaseMs);
  const lead = options.lead ?? true;
  if (lead !== true && lead !== false && lead !== 'only') {
    throw new OptionError('lead', "true, false or 'only'", lead);
  }
  return {
    concurrency: whole('concurrency', options.concurrency ?? 10, 1, 10_000),
    lead,
    leaseMs,
    renewEveryMs: whole(
      'renewEveryMs',
      options.renewEveryMs ?? Math.floor(leaseMs / 4),
      100,
      leaseMs / 2,
    ),
    leadershipMs: Math.min(10_000, Math.floor(leaseMs / 2)),
    drainTimeoutMs: whole('drainTimeoutMs', options.drainTimeoutMs ?? 30_000, 0, longestLeaseMs),
    settleMs: whole('settleMs', options.settleMs ?? 5_000, 0, longestLeaseMs),
    pollMs: options.pollMs ?? { busy: 250, idle: 2_000 },
    onExpectationMissed: options.onExpectationMissed,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    log: unthrowing(options.log ?? (() => {})),
    health:
      options.health === undefined
        ? undefined
        : {
            port: whole('health.port', options.health.port, 0, 65_535),
            host: options.health.host ?? '127.0.0.1',
          },
  };
}

/** A log that fails must not end a loop. */
function unthrowing(log: RunnerLog): RunnerLog {
  return (...line) => {
    try {
      log(...line);
    } catch {
      // There is nobody left to tell.
    }
  };
}

function whole(field: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new OptionError(field, `a whole number from ${least} to ${most}`, value);
  }
  return value;
}
