import { describe, expect, it } from 'vitest';
import { clockChanges, clockMeetings } from './clock-changes.js';
import { viewNextFires } from './fire-view.js';
import type { CronInput, ScheduleInput } from './schedule-input.js';

const utc = (text: string) => new Date(`${text}Z`);
const view = (schedule: ScheduleInput, after: string, count: number) =>
  viewNextFires(schedule, { after: utc(after), count }).map(
    ({ local, note }) => `${local} ${note ?? '-'}`,
  );

describe('viewNextFires', () => {
  it('says what a gap does to a fire', () => {
    const schedule: CronInput = { cron: '30 2 * * *', timeZone: 'America/New_York' };
    expect(view(schedule, '2026-03-07T12:00:00', 2)).toEqual([
      '2026-03-08T03:30:00-04:00 gap: 02:30 does not exist, fires at 03:30',
      '2026-03-09T02:30:00-04:00 -',
    ]);
    const end: ScheduleInput = { ...schedule, cron: '15,30 2 * * *', dst: { gap: 'end' } };
    expect(view(end, '2026-03-07T12:00:00', 1)).toEqual([
      '2026-03-08T03:00:00-04:00 gap: 02:15, 02:30 do not exist, fire at 03:00',
    ]);
    const skip: CronInput = { ...schedule, dst: { gap: 'skip' } };
    expect(view(skip, '2026-03-07T12:00:00', 1)).toEqual(['2026-03-09T02:30:00-04:00 -']);
    const both = { cron: '30 2,3 * * *', timeZone: 'America/New_York' };
    expect(view(both, '2026-03-07T12:00:00', 1)).toEqual([
      '2026-03-08T03:30:00-04:00 gap: 02:30 does not exist, fires together with 03:30',
    ]);
    const late = { cron: '45 3 * * *', timeZone: 'America/New_York' };
    expect(view(late, '2026-03-07T12:00:00', 1)).toEqual(['2026-03-08T03:45:00-04:00 -']);
  });

  it('says which of two equal local times it is', () => {
    const schedule: CronInput = { cron: '30 1 * * *', timeZone: 'America/New_York' };
    const first = '2026-11-01T01:30:00-04:00 overlap: 01:30 comes twice, this is the first';
    const second = '2026-11-01T01:30:00-05:00 overlap: 01:30 comes twice, this is the second';
    expect(view(schedule, '2026-10-31T12:00:00', 1)).toEqual([first]);
    const later: CronInput = { ...schedule, dst: { overlap: 'second' } };
    expect(view(later, '2026-10-31T12:00:00', 1)).toEqual([second]);
    expect(
      view({ cron: '30 * * * *', timeZone: 'America/New_York' }, '2026-11-01T05:00:00', 3),
    ).toEqual([first, second, '2026-11-01T02:30:00-05:00 -']);
  });

  it('shows a date that a zone skipped with its date', () => {
    const apia = { cron: '0 8 * * *', timeZone: 'Pacific/Apia' };
    expect(view(apia, '2011-12-30T00:00:00', 1)).toEqual([
      '2011-12-31T08:00:00+14:00 gap: 2011-12-30 08:00 does not exist, fires together with 2011-12-31 08:00',
    ]);
  });

  it('shows excluded dates between the fires, without counting them', () => {
    const schedule = { cron: '0 0 * * *', exclude: ['2026-01-02'] };
    const views = viewNextFires(schedule, { after: utc('2026-01-01T00:00:00'), count: 2 });
    expect(views.map(({ note, isExcluded }) => [note, isExcluded])).toEqual([
      ['excluded', true],
      [null, false],
      [null, false],
    ]);
    expect(views[1]!.dataInterval).toEqual({
      from: utc('2026-01-01T00:00:00'),
      to: utc('2026-01-03T00:00:00'),
    });
    expect(viewNextFires(schedule, { after: utc('2026-01-01T00:00:00'), count: 0 })).toEqual([]);
  });
});

describe('clockMeetings', () => {
  const twoYears = [utc('2026-01-01T00:00:00'), utc('2028-01-01T00:00:00')] as const;
  const effects = (schedule: ScheduleInput) =>
    clockMeetings(schedule, ...twoYears).map(
      ({ at, effect }) => `${at.toISOString().slice(0, 10)} ${effect}`,
    );

  it('names the dates on which a schedule meets a change of clocks, and what it does', () => {
    expect(effects({ cron: '30 2 * * *', timeZone: 'America/New_York' })).toEqual([
      '2026-03-08 02:30 does not exist and fires 1h later',
      '2027-03-14 02:30 does not exist and fires 1h later',
    ]);
    expect(
      effects({ cron: '*/5 1 * * *', timeZone: 'America/New_York', dst: { overlap: 'both' } }),
    ).toEqual([
      '2026-11-01 01:00, 01:05, 01:10, 01:15, 01:20 and 7 more come twice and fire both times',
      '2027-11-07 01:00, 01:05, 01:10, 01:15, 01:20 and 7 more come twice and fire both times',
    ]);
    expect(
      effects({ cron: '15 2 * * *', timeZone: 'Australia/Lord_Howe', dst: { gap: 'end' } })[0],
    ).toBe('2026-10-03 02:15 does not exist and fires at 02:30');
    expect(
      effects({ cron: '30 2 * * *', timeZone: 'America/New_York', dst: { gap: 'skip' } })[0],
    ).toBe('2026-03-08 02:30 does not exist and does not fire');
  });

  it('says nothing where nothing is met', () => {
    expect(effects({ cron: '30 4 * * *', timeZone: 'America/New_York' })).toEqual([]);
    expect(effects({ cron: '30 * * * *', timeZone: 'America/New_York' })).toEqual([]);
    expect(effects({ cron: '30 2 * * *' })).toEqual([]);
    expect(effects({ every: '5m', timeZone: 'America/New_York' })).toEqual([]);
    expect(
      effects({ cron: '30 2 * * *', timeZone: 'America/New_York', endAt: '2026-03-01' }),
    ).toEqual([]);
  });

  it('lists the changes of a zone', () => {
    expect(
      clockChanges('Europe/Paris', ...twoYears).map(
        ({ kind, localFrom }) => `${kind} ${localFrom}`,
      ),
    ).toEqual([
      'gap 2026-03-29T02:00:00',
      'overlap 2026-10-25T02:00:00',
      'gap 2027-03-28T02:00:00',
      'overlap 2027-10-31T02:00:00',
    ]);
    expect(clockChanges('Europe/Paris', ...twoYears)[0]).toMatchObject({
      localTo: '2026-03-29T03:00:00',
      offsetBefore: '+01:00',
      offsetAfter: '+02:00',
    });
    expect(clockChanges('Asia/Kolkata', ...twoYears)).toEqual([]);
  });
});
