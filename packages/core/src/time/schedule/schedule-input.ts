import type { DstGap, DstOverlap } from './schedule.js';

/** An instant in a definition: a Date, an ISO text with an offset, or wall clock text in the schedule's zone. */
export type InstantInput = Date | string;

interface RepeatingInput {
  /** IANA zone; default `UTC`, never the machine's. */
  readonly timeZone?: string;
  /** No fire before it. For `every` it is also where the intervals are counted from (else the Unix epoch). */
  readonly startAt?: InstantInput;
  /** No fire at or after it. */
  readonly endAt?: InstantInput;
  /** A duration: the most by which a start is delayed, spread evenly over DAGs and dates; below half the interval. */
  readonly jitter?: string;
  /** Local dates (`'2026-12-25'`) or instants that do not fire. */
  readonly exclude?: readonly InstantInput[];
}

export interface CronInput extends RepeatingInput {
  /** 5 fields, or 6 with the second first, or a name such as `@daily`. */
  readonly cron: string;
  /** What happens to a local time that a change of clocks removes or repeats; default `shift` and `first`. */
  readonly dst?: { readonly gap?: DstGap; readonly overlap?: DstOverlap };
  readonly every?: never;
  readonly at?: never;
}

export interface EveryInput extends RepeatingInput {
  /** A duration such as `'5m'`. */
  readonly every: string;
  readonly cron?: never;
  readonly at?: never;
}

export interface AtInput {
  /** The one instant. */
  readonly at: InstantInput;
  readonly timeZone?: string;
  readonly cron?: never;
  readonly every?: never;
}

/** What `schedule:` of `@Dag` and `@Job` accepts: exactly one of `cron`, `every` and `at`. */
export type ScheduleInput = CronInput | EveryInput | AtInput;

/** The options that each kind accepts. */
export const SCHEDULE_OPTIONS = {
  cron: ['cron', 'timeZone', 'dst', 'startAt', 'endAt', 'jitter', 'exclude'],
  every: ['every', 'timeZone', 'startAt', 'endAt', 'jitter', 'exclude'],
  at: ['at', 'timeZone'],
} as const;

export type ScheduleKind = keyof typeof SCHEDULE_OPTIONS;

export const SCHEDULE_KINDS = ['cron', 'every', 'at'] as const satisfies readonly ScheduleKind[];
