import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextFires, previousFires } from '../schedule/fires.js';
import { jitterOf } from '../schedule/jitter.js';
import { toSchedule } from '../schedule/parse-schedule.js';
import type { Schedule } from '../schedule/schedule.js';
import {
  type DecideFiresInput,
  decideFires,
  type FireDecision,
  type MisfireRules,
} from './decide-fires.js';
import type { PausedSpan } from './paused-spans.js';

/*
 * The decision is judged by a slow model that holds all owed fires in one list and knows nothing of batches.
 */

const MINUTE_MS = 60_000;
const start = Date.UTC(2026, 2, 7, 12);
const dagId = 'nightly-sales';

const schedules = fc.constantFrom<Schedule>(
  ...[
    { every: '1m' },
    { every: '7m', jitter: '3m' },
    { cron: '*/5 * * * *', timeZone: 'America/New_York', jitter: '2m' },
    { cron: '*/20 1-4 * * *', timeZone: 'America/New_York', exclude: ['2026-03-08'] },
    {
      cron: '*/10 * * * *',
      exclude: [new Date(start + 40 * MINUTE_MS), new Date(start + 50 * MINUTE_MS)],
    },
    { every: '13m', endAt: new Date(start + 300 * MINUTE_MS) },
  ].map(toSchedule),
);
const misfires: fc.Arbitrary<MisfireRules> = fc
  .record({
    policy: fc.constantFrom('catch-up' as const, 'coalesce' as const, 'skip' as const),
    maxCatchUp: fc.integer({ min: 0, max: 40 }),
    graceMs: fc.option(fc.integer({ min: 0, max: 30 * MINUTE_MS }), { nil: undefined }),
    windowMs: fc.option(fc.integer({ min: 0, max: 300 * MINUTE_MS }), { nil: undefined }),
  })
  .map(({ graceMs, windowMs, ...rest }) => ({
    ...rest,
    ...(graceMs === undefined ? {} : { graceMs }),
    ...(windowMs === undefined ? {} : { windowMs }),
  }));
const onResumes = fc.constantFrom('skip' as const, 'latest' as const, 'all' as const);
/** Minutes after the start; pairs are spans, one left over is open. */
const pauses = fc
  .tuple(
    fc.uniqueArray(fc.integer({ min: 0, max: 500 }), { maxLength: 5 }),
    fc.array(fc.option(onResumes, { nil: null }), { minLength: 3, maxLength: 3 }),
  )
  .map(([minutes, choices]): PausedSpan[] => {
    const at = minutes.sort((a, b) => a - b).map((minute) => new Date(start + minute * MINUTE_MS));
    return choices.flatMap((onResume, index) => {
      const from = at[2 * index];
      return from === undefined ? [] : [{ from, to: at[2 * index + 1] ?? null, onResume }];
    });
  });
const inputs: fc.Arbitrary<DecideFiresInput> = fc
  .record({
    schedule: schedules,
    misfire: misfires,
    onResume: onResumes,
    pausedSpans: pauses,
    age: fc.integer({ min: 0, max: 600 * MINUTE_MS }),
  })
  .map(({ age, ...rest }) => ({
    ...rest,
    dagId,
    nextFireAt: nextFires(rest.schedule, { after: new Date(start), includeExcluded: true })[0]!,
    now: new Date(start + age),
    // A pause that is over lies in the past.
    pausedSpans: rest.pausedSpans.filter(({ from, to }) => (to ?? from).getTime() <= start + age),
  }));

/** Decides in batches until nothing is left, with `now` held still. */
function settle(input: DecideFiresInput, limit: number): FireDecision {
  let decision = decideFires({ ...input, limit });
  const runs = [...decision.runs];
  const fires = [...decision.fires];
  while (decision.hasMore) {
    const carry = structuredClone(decision.carry);
    decision = decideFires({ ...input, limit, nextFireAt: decision.nextFireAt!, carry });
    runs.push(...decision.runs);
    fires.push(...decision.fires);
  }
  return { ...decision, runs, fires };
}

interface Owed {
  readonly at: number;
  readonly age: number;
  readonly graceMs: number;
  readonly isExcluded: boolean;
  readonly span: PausedSpan | undefined;
}

/** Everything owed, in one list, by the words of the design. */
function owedBy(input: DecideFiresInput): { owed: Owed[]; next: number | null } {
  const { schedule, nextFireAt, now, misfire, pausedSpans = [] } = input;
  const owed: Owed[] = [];
  let at: number | undefined = nextFireAt.getTime();
  while (at !== undefined) {
    const date: Date = new Date(at);
    const dueAt = at + jitterOf(schedule, dagId, date);
    const isHeld = pausedSpans.some(({ from, to }) => to === null && dueAt >= from.getTime());
    if (dueAt > now.getTime() || isHeld) break;
    const next: number | undefined = nextFires(schedule, {
      after: date,
      includeExcluded: true,
    })[0]?.getTime();
    const half = next === undefined ? Number.POSITIVE_INFINITY : (next - at) / 2;
    const isFire = nextFires(schedule, { after: new Date(at - 1) })[0]?.getTime() === at;
    owed.push({
      at,
      age: now.getTime() - dueAt,
      graceMs:
        misfire.graceMs === undefined
          ? Math.min(60_000, half)
          : Math.max(misfire.graceMs, Math.min(1_000, half)),
      isExcluded: !isFire,
      span: pausedSpans.find(
        ({ from, to }) => to !== null && dueAt >= from.getTime() && dueAt < to.getTime(),
      ),
    });
    at = next;
  }
  return { owed, next: at ?? null };
}

/** What each owed fire must become: `run`, `catch-up`, `folded`, or a reason. */
function fatesOf(input: DecideFiresInput, owed: readonly Owed[]): string[] {
  const { misfire, onResume } = input;
  const live = owed.filter((fire) => !fire.isExcluded && fire.span === undefined);
  const late = live.filter((fire) => fire.age >= fire.graceMs);
  const usable = late.filter((fire) => fire.age <= (misfire.windowMs ?? Number.POSITIVE_INFINITY));
  const granted = new Set(usable.slice(Math.max(0, usable.length - misfire.maxCatchUp)));
  return owed.map((fire) => {
    if (fire.isExcluded) return 'excluded';
    if (fire.span !== undefined) {
      const choice = fire.span.onResume ?? onResume;
      const inside = owed.filter((other) => other.span === fire.span && !other.isExcluded);
      if (choice === 'all' || (choice === 'latest' && inside.at(-1) === fire)) return 'catch-up';
      return 'paused';
    }
    if (misfire.policy === 'coalesce') return late.length > 0 ? 'folded' : 'run';
    if (misfire.policy === 'skip') {
      return !late.includes(fire) && live.at(-1) === fire ? 'run' : 'skipped';
    }
    if (!late.includes(fire)) return 'run';
    if (!usable.includes(fire)) return 'expired';
    return granted.has(fire) ? 'catch-up' : 'capped';
  });
}

describe('the decision about due fires', () => {
  it('is that of a model which sees everything at once', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(inputs, fc.integer({ min: 1, max: 200 }), (input, limit) => {
        const { owed, next } = owedBy(input);
        const fates = fatesOf(input, owed);
        const decision = settle(input, limit);
        const ofFate = (fate: string) => owed.filter((_, index) => fates[index] === fate);

        const plain = decision.runs.filter((run) => run.cause === 'schedule');
        expect(plain.map((run) => run.logicalDate.getTime())).toEqual(
          ofFate('run').map((fire) => fire.at),
        );
        const folded = ofFate('folded');
        const makingUp = ofFate('catch-up').map((fire) => fire.at);
        if (folded.length > 0) makingUp.push(folded.at(-1)!.at);
        const late = decision.runs.filter((run) => run.cause === 'catch-up');
        expect(late.map((run) => run.logicalDate.getTime())).toEqual(
          makingUp.sort((a, b) => a - b),
        );
        for (const run of decision.runs) {
          const isCoalesced = folded.at(-1)?.at === run.logicalDate.getTime();
          expect(run.coalesced).toBe(isCoalesced ? folded.length : 1);
          const first = isCoalesced ? new Date(folded[0]!.at) : run.logicalDate;
          expect(run.dataInterval.from).toEqual(
            previousFires(input.schedule, { before: first })[0],
          );
          expect(run.dataInterval.to).toEqual(run.logicalDate);
        }

        const isLine = (fate: string) => !['run', 'catch-up', 'folded'].includes(fate);
        const lines: { from: number; to: number; count: number; reason: string }[] = [];
        for (let index = 0; index < owed.length; ) {
          const reason = fates[index]!;
          let end = index;
          while (fates[end] === reason) end += 1;
          const stretch = owed.slice(index, end).map((fire) => fire.at);
          index = end;
          if (!isLine(reason)) continue;
          const [from, to, count] = [stretch[0]!, stretch.at(-1)!, stretch.length];
          if (count > 100) lines.push({ from, to, count, reason });
          else for (const at of stretch) lines.push({ from: at, to: at, count: 1, reason });
        }
        expect(
          decision.fires.map(({ from, to, ...rest }) => ({
            from: from.getTime(),
            to: to.getTime(),
            ...rest,
          })),
        ).toEqual(lines);
        expect(decision.nextFireAt?.getTime() ?? null).toBe(next);
        expect(decision.carry).toBeNull();
      }),
      { numRuns: 200 },
    );
  });

  it('accounts for each fire once while time, pauses and batches go on', {
    timeout: 60_000,
  }, () => {
    const ticks = fc.array(fc.integer({ min: 0, max: 90 * MINUTE_MS }), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(
        schedules,
        misfires,
        ticks,
        fc.integer({ min: 1, max: 30 }),
        (schedule, misfire, steps, limit) => {
          let nextFireAt =
            nextFires(schedule, { after: new Date(start), includeExcluded: true })[0] ?? null;
          let carry: DecideFiresInput['carry'] = null;
          let now = start;
          let accounted = 0;
          let due = 0;
          let isRunning = true;
          const dates = new Set<number>();
          for (const step of [...steps, 0]) {
            now += step;
            // One batch for each tick, so that `now` moves between the batches; the last tick settles all.
            do {
              if (nextFireAt === null) break;
              const decision: FireDecision = decideFires({
                schedule,
                dagId,
                nextFireAt,
                now: new Date(now),
                misfire,
                carry,
                limit,
              });
              for (const run of decision.runs) {
                expect(dates.has(run.logicalDate.getTime())).toBe(false);
                dates.add(run.logicalDate.getTime());
                accounted += run.coalesced;
              }
              for (const line of decision.fires) accounted += line.count;
              ({ nextFireAt, carry, hasMore: isRunning } = decision);
            } while (step === 0 && isRunning);
          }
          for (let at = start; ; due += 1) {
            const [next] = nextFires(schedule, { after: new Date(at), includeExcluded: true });
            if (next === undefined || next.getTime() + jitterOf(schedule, dagId, next) > now) break;
            at = next.getTime();
          }
          expect(accounted).toBe(due);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('is the same when it is made twice', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        expect(decideFires(structuredClone(input))).toEqual(decideFires(input));
      }),
      { numRuns: 50 },
    );
  });
});

describe('jitterOf', () => {
  it('is stable, below half the interval, spread out, and keeps due instants in order', () => {
    const schedule = toSchedule({ cron: '*/10 * * * *', jitter: '4m59s' });
    const dates = nextFires(schedule, { after: new Date(start), count: 400 });
    const jitters = dates.map((date) => jitterOf(schedule, dagId, date));
    expect(dates.map((date) => jitterOf(structuredClone(schedule), dagId, date))).toEqual(jitters);
    expect(dates.map((date) => jitterOf(schedule, 'other', date))).not.toEqual(jitters);
    for (const jitter of jitters) {
      expect(jitter).toBeGreaterThanOrEqual(0);
      expect(jitter).toBeLessThan(5 * MINUTE_MS);
    }
    const mean = jitters.reduce((sum, jitter) => sum + jitter, 0) / jitters.length;
    expect(Math.abs(mean - 149_500)).toBeLessThan(20_000);
    expect(jitterOf(toSchedule({ cron: '* * * * *' }), dagId, dates[0]!)).toBe(0);
    expect(jitterOf(toSchedule({ at: '2026-01-01' }), dagId, new Date('2026-01-01'))).toBe(0);
  });

  it('stays below half of an interval that a change of clocks made shorter', () => {
    const schedule = toSchedule({
      cron: '0 1,4 * * *',
      timeZone: 'America/New_York',
      jitter: '80m',
      // The intervals that parsing looks at are from here on, and long enough.
      startAt: '2024-04-01',
    });
    // 01:00 on the day without 02:00: the next fire is two hours away.
    const short = new Date('2026-03-08T06:00:00Z');
    const dags = Array.from({ length: 200 }, (_, index) => `dag-${index}`);
    const longest = Math.max(...dags.map((dag) => jitterOf(schedule, dag, short)));
    expect(longest).toBeLessThan(60 * MINUTE_MS);
    expect(longest).toBeGreaterThan(50 * MINUTE_MS);
  });
});
