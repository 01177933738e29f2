import { describe, expect, it } from 'vitest';
import { Dag } from '../decorators/dag.js';
import { Job } from '../decorators/job.js';
import type { ScheduleInput } from '../time/schedule/schedule-input.js';
import { compile } from './compile.js';

const at = new Date('2026-11-30T12:00:00Z');

/** What is said about one scheduled job at that time. */
function problemsOf(schedule: ScheduleInput, options: { at?: Date } = { at }) {
  @Job({ schedule })
  class Report {
    run() {}
  }
  return compile([Report], options).problems;
}

describe('a schedule that meets changes of clocks', () => {
  it('is a warning with the dates and what will happen', () => {
    const [problem, ...more] = problemsOf({ cron: '30 2 * * *', timeZone: 'Europe/Paris' });
    expect(more).toEqual([]);
    expect(problem).toMatchObject({
      code: 'schedule-clock-change',
      severity: 'warning',
      path: 'Report > schedule',
      file: expect.stringContaining('problems-of-clocks'),
    });
    expect(problem?.message.split('\n')).toEqual([
      'meets 4 changes of clocks in Europe/Paris until 2028-11-30:',
      '2027-03-28: 02:30 does not exist and fires 1h later',
      '2027-10-31: 02:30 comes twice and fires the first time only',
      '2028-03-26: 02:30 does not exist and fires 1h later',
      '2028-10-29: 02:30 comes twice and fires the first time only',
    ]);
  });

  it('says what its own rule does', () => {
    const messages = (['end', 'skip'] as const).map((gap) => {
      const schedule = { cron: '30 2 * * *', timeZone: 'Europe/Paris', dst: { gap } };
      return problemsOf(schedule)[0]?.message.split('\n')[1];
    });
    expect(messages).toEqual([
      '2027-03-28: 02:30 does not exist and fires at 03:00',
      '2027-03-28: 02:30 does not exist and does not fire',
    ]);
  });

  it('stands on the class that has the schedule, and leaves the definition as it is', () => {
    @Dag({ schedule: { cron: '0 0 * * *', timeZone: 'America/Havana' } })
    class Nightly {}
    @Job({ dag: Nightly })
    class Extract {
      run() {}
    }
    const warned = compile([Extract], { at });
    expect(warned.problems.map(({ path }) => path)).toEqual(['Nightly > schedule']);
    expect(warned.dags).toEqual(compile([Extract]).dags);
  });

  it('is not said of times that no change touches, of hours that follow real time, of intervals', () => {
    for (const schedule of [
      { cron: '30 12 * * *', timeZone: 'Europe/Paris' },
      { cron: '30 2 * * *' },
      { cron: '0 * * * *', timeZone: 'Europe/Paris' },
      { every: '1h', timeZone: 'Europe/Paris' },
      { cron: '30 2 1 7 *', timeZone: 'Europe/Paris' },
      { cron: '30 2 * * *', timeZone: 'Europe/Paris', endAt: '2027-01-01' },
    ]) {
      expect(problemsOf(schedule)).toEqual([]);
    }
  });

  it('is not looked for unless the caller says what time it is', () => {
    expect(problemsOf({ cron: '30 2 * * *', timeZone: 'Europe/Paris' }, {})).toEqual([]);
  });
});

describe('a schedule that is over', () => {
  it.each<ScheduleInput>([
    { at: '2026-11-30T11:59:00Z' },
    { every: '1h', endAt: '2026-11-30T12:00:00Z' },
    { cron: '0 0 * * *', endAt: '2020-01-01' },
  ])('is a warning: %j', (schedule) => {
    expect(problemsOf(schedule)).toMatchObject([
      { code: 'schedule-over', severity: 'warning', path: 'Report > schedule' },
    ]);
  });

  it('is not said while a fire is left, nor without a clock', () => {
    expect(problemsOf({ at: '2026-11-30T12:00:01Z' })).toEqual([]);
    expect(problemsOf({ every: '1h', endAt: '2026-11-30T13:00:01Z' })).toEqual([]);
    expect(problemsOf({ at: '2020-01-01T00:00:00Z' }, {})).toEqual([]);
  });
});
