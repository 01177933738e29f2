import { describe, expect, it } from 'vitest';
import { describe as inWords } from './describe-schedule.js';
import { parseSchedule, toSchedule } from './parse-schedule.js';
import type { ScheduleInput } from './schedule-input.js';

const problemsOf = (input: unknown) =>
  parseSchedule(input).problems.map(
    ({ severity, code, path, message, hint }) =>
      `${severity} ${code} ${path}: ${message}${hint ? ` | ${hint}` : ''}`,
  );

describe('parseSchedule', () => {
  it('fills in the defaults, as plain JSON', () => {
    const { schedule, problems } = parseSchedule({
      cron: ' 0  2 * * mon ',
      timeZone: 'Europe/Paris',
    });
    expect(problems).toEqual([]);
    expect(schedule).toEqual({
      kind: 'cron',
      cron: '0 2 * * MON',
      timeZone: 'Europe/Paris',
      dst: { gap: 'shift', overlap: 'first' },
    });
    expect(parseSchedule({ every: '90m' }).schedule).toEqual({
      kind: 'every',
      everyMs: 5_400_000,
      timeZone: 'UTC',
    });
    expect(parseSchedule({ at: '2026-07-01T09:00', timeZone: 'Europe/Paris' }).schedule).toEqual({
      kind: 'at',
      at: '2026-07-01T07:00:00.000Z',
      timeZone: 'Europe/Paris',
    });
  });

  it('keeps every option, in one form', () => {
    const { schedule, problems } = parseSchedule({
      cron: '0 2 * * *',
      timeZone: 'Europe/Paris',
      dst: { gap: 'end' },
      startAt: '2026-01-01',
      endAt: new Date('2027-01-01T00:00:00Z'),
      jitter: '30m',
      exclude: ['2026-12-25', '2026-05-01', '2026-05-01', new Date('2026-03-01T01:00:00Z')],
    });
    expect(problems).toEqual([]);
    expect(schedule).toEqual({
      kind: 'cron',
      cron: '0 2 * * *',
      timeZone: 'Europe/Paris',
      dst: { gap: 'end', overlap: 'first' },
      startAt: '2025-12-31T23:00:00.000Z',
      endAt: '2027-01-01T00:00:00.000Z',
      jitterMs: 1_800_000,
      exclude: ['2026-03-01T01:00:00.000Z', '2026-05-01', '2026-12-25'],
    });
    expect(JSON.parse(JSON.stringify(schedule))).toEqual(schedule);
  });

  it.each<[unknown, string[]]>([
    [
      '0 2 * * *',
      [
        'schedule-shape schedule: expected an object, found "0 2 * * *" | Write { cron: \'0 2 * * *\' }.',
      ],
    ],
    [null, ['schedule-shape']],
    [
      {},
      ['schedule-kind schedule: expected exactly one of cron, every and at, found none of them'],
    ],
    [{ cron: '0 2 * * *', every: '5m' }, ['found cron and every | A DAG has one schedule']],
    [
      { crn: '0 2 * * *' },
      [
        'schedule-kind',
        "schedule-option schedule.crn: is not an option of this schedule | Did you mean 'cron'?",
      ],
    ],
    [
      { cron: '0 2 * * *', timezone: 'UTC' },
      ["schedule.timezone: is not an option of this schedule | Did you mean 'timeZone'?"],
    ],
    [{ every: '5m', dst: {} }, ['schedule.dst: is not an option of this schedule | Known: every']],
    [{ at: '2026-01-01', jitter: '5s' }, ['schedule.jitter: is not an option']],
    [
      { cron: '0 2 * * *', timeZone: 'Europe/Pari' },
      [
        'time-zone schedule.timeZone: "Europe/Pari" is not a known IANA time zone | Did you mean \'Europe/Paris\'?',
      ],
    ],
    [{ cron: '0 2 * *' }, ['cron-field-count schedule.cron']],
    [{ every: 300 }, ['duration schedule.every: expected a duration']],
    [{ every: '10ms' }, ['duration schedule.every: expected at least 100ms']],
    [{ at: 'noon' }, ['schedule-instant schedule.at: expected a date']],
    [{ at: new Date(Number.NaN) }, ['schedule-instant schedule.at']],
    [{ every: '5m', startAt: 5 }, ['schedule-instant schedule.startAt: expected a date']],
    [
      { every: '5m', startAt: '2026-01-02', endAt: '2026-01-02' },
      ['schedule-range schedule.endAt: expected an instant after startAt'],
    ],
    [
      { cron: '0 2 * * *', dst: { gap: 'later', overlp: 'first' } },
      [
        "schedule-dst schedule.dst.gap: expected one of 'shift', 'end', 'skip', found \"later\"",
        "schedule-option schedule.dst.overlp: is not an option | Did you mean 'overlap'?",
      ],
    ],
    [{ cron: '0 2 * * *', dst: 'shift' }, ['schedule-dst schedule.dst: expected an object']],
    [
      { cron: '0 2 * * *', exclude: '2026-12-25' },
      ['schedule-exclude schedule.exclude: expected a list'],
    ],
    [
      { cron: '0 2 * * *', exclude: ['2026-12-25', '25.12.2026'] },
      ['schedule-instant schedule.exclude[1]'],
    ],
    [
      { every: '5m', jitter: '150s' },
      [
        'schedule-jitter schedule.jitter: must be below half the shortest interval (5m), found 2m30s',
      ],
    ],
    [{ cron: '0 0,1 * * *', jitter: '45m' }, ['shortest interval (1h), found 45m']],
    [
      { cron: '0 2 * * *', startAt: '2026-01-01T03:00', endAt: '2026-01-02T01:00' },
      ['schedule-never schedule: never fires'],
    ],
    [
      { cron: '0 2 1 1 *', startAt: '2026-01-01', endAt: '2026-12-01', exclude: ['2026-01-01'] },
      ['schedule-never'],
    ],
  ])('refuses %j', (input, expected) => {
    const problems = problemsOf(input);
    expect(problems).toHaveLength(expected.length);
    problems.forEach((problem, index) => {
      expect(problem).toContain(expected[index]);
      expect(problem).toMatch(/^error /);
    });
    expect(parseSchedule(input).schedule).toBeUndefined();
    expect(() => toSchedule(input as ScheduleInput)).toThrow('in the job definitions');
  });

  it('reports everything at once', () => {
    const input = { cron: '61 25 * * *', timeZone: 'Nowhere', jitter: 5, exlude: [], startAt: 'x' };
    expect(
      parseSchedule(input)
        .problems.map((problem) => problem.path)
        .sort(),
    ).toEqual([
      'schedule.cron',
      'schedule.cron',
      'schedule.exlude',
      'schedule.jitter',
      'schedule.startAt',
      'schedule.timeZone',
    ]);
  });

  it('warns and still gives the schedule', () => {
    const { schedule, problems } = parseSchedule({ cron: '0 * * * *', dst: { gap: 'skip' } });
    expect(problems.map(({ severity, code }) => `${severity} ${code}`)).toEqual([
      'warning schedule-dst-unused',
    ]);
    expect(schedule).toBeDefined();
  });

  it('accepts jitter just below half the interval, and a schedule that is already stored', () => {
    expect(problemsOf({ every: '5m', jitter: '149s' })).toEqual([]);
    const stored = toSchedule({ every: '5m' });
    expect(toSchedule(stored)).toBe(stored);
  });
});

describe('describe', () => {
  it.each<[ScheduleInput, string]>([
    [{ cron: '0 2 * * *', timeZone: 'Europe/Paris' }, 'At 02:00 (Europe/Paris)'],
    [{ cron: '@daily' }, 'At 00:00 (UTC)'],
    [{ cron: '0 0 13 * 5' }, 'At 00:00, on day 13 of the month; or at 00:00, only on Friday (UTC)'],
    // Restricted by its letters only: fires every day.
    [{ cron: '0 0 13 * */1' }, 'At 00:00 (UTC)'],
    [{ cron: '0 0 * * 0-7' }, 'At 00:00 (UTC)'],
    [{ cron: '0 0 1-31 3 5' }, 'At 00:00, only in March (UTC)'],
    [{ cron: '*/20 * * * * *' }, 'Every 20 seconds (UTC)'],
    [{ every: '90m' }, 'Every 1h30m'],
    [
      {
        every: '5m',
        startAt: '2026-01-01',
        endAt: '2026-02-01',
        jitter: '30s',
        exclude: ['2026-01-06'],
      },
      'Every 5m from 2026-01-01T00:00:00.000Z, until 2026-02-01T00:00:00.000Z, up to 30s later, except 1 date',
    ],
    [{ at: '2026-01-01' }, 'Once at 2026-01-01T00:00:00.000Z (UTC)'],
  ])('%j', (input, words) => {
    expect(inWords(input)).toBe(words);
  });
});
