import { describe, expect, it } from 'vitest';
import { parseDateRange } from './date-range.js';
import { firesBetween } from './schedule/fires.js';

const far = new Date('2030-01-01T00:00:00Z');
const iso = (range: { from: Date; to: Date }) => [range.from.toISOString(), range.to.toISOString()];

describe('parseDateRange', () => {
  it('takes a date as midnight in the zone and honours an offset', () => {
    const range = parseDateRange({ from: '2026-03-06', to: '2026-03-12' }, 'America/New_York', far);
    expect(iso(range)).toEqual(['2026-03-06T05:00:00.000Z', '2026-03-12T04:00:00.000Z']);
    const offsets = { from: '2026-03-06T00:00+01:00', to: '2026-03-06T00:00:00.5Z' };
    expect(iso(parseDateRange(offsets, 'America/New_York', far))).toEqual([
      '2026-03-05T23:00:00.000Z',
      '2026-03-06T00:00:00.500Z',
    ]);
  });

  it('begins a day without a midnight at its first instant, and a doubled midnight at the first', () => {
    const saoPaulo = parseDateRange(
      { from: '2018-11-04', to: '2018-11-05' },
      'America/Sao_Paulo',
      far,
    );
    expect(iso(saoPaulo)).toEqual(['2018-11-04T03:00:00.000Z', '2018-11-05T02:00:00.000Z']);
    const havana = parseDateRange({ from: '2025-11-02', to: '2025-11-03' }, 'America/Havana', far);
    expect(iso(havana)).toEqual(['2025-11-02T04:00:00.000Z', '2025-11-03T05:00:00.000Z']);
  });

  it('gives 25 and 23 hourly dates on the days when clocks change', () => {
    const hourly = { cron: '0 * * * *', timeZone: 'America/New_York' };
    const dates = (from: string, to: string) => {
      const range = parseDateRange({ from, to }, 'America/New_York', far);
      return firesBetween(hourly, range.from, range.to);
    };
    const autumn = dates('2026-11-01T00:00', '2026-11-02T00:00');
    expect(autumn).toHaveLength(25);
    expect(autumn[0]).toEqual(new Date('2026-11-01T04:00:00Z'));
    expect(autumn.at(-1)).toEqual(new Date('2026-11-02T04:00:00Z'));
    const spring = dates('2026-03-08', '2026-03-09');
    expect(spring).toHaveLength(23);
    expect(spring.at(-1)).toEqual(new Date('2026-03-09T03:00:00Z'));
  });

  it('includes the start, excludes the end, and may be empty', () => {
    const minutes = { cron: '* * * * *' };
    const range = (from: string, to: string) => {
      const { from: start, to: end } = parseDateRange({ from, to }, 'UTC', far);
      return firesBetween(minutes, start, end);
    };
    expect(range('2026-01-01T01:00', '2026-01-01T01:05')).toHaveLength(5);
    expect(range('2026-01-01T01:00', '2026-01-01T01:00')).toHaveLength(0);
    expect(range('2026-01-01T01:00:30', '2026-01-01T01:01:30')).toEqual([
      new Date('2026-01-01T01:01:00Z'),
    ]);
  });

  it('leaves what is at or after the cursor to the scheduler', () => {
    const cursor = new Date('2026-06-19T00:00:00Z');
    const cut = parseDateRange({ from: '2026-06-10', to: '2026-06-25' }, 'UTC', cursor);
    expect([cut.to, cut.isCut]).toEqual([cursor, true]);
    const open = parseDateRange({ from: '2026-06-10' }, 'UTC', cursor);
    expect([open.to, open.isCut]).toEqual([cursor, false]);
    const future = parseDateRange({ from: '2026-07-01', to: '2026-07-02' }, 'UTC', cursor);
    expect(future.to).toEqual(future.from);
    expect(future.isCut).toBe(true);
    expect(parseDateRange({ from: '2026-07-01' }, 'UTC', cursor).isCut).toBe(false);
  });

  it.each([
    ['08.03.2026', 'year first'],
    ['2026/03/08', 'year first'],
    ['2026-3-8', 'two digits'],
    ['2026-02-30', 'exist'],
    ['2026-13-01', 'exist'],
    ['2026-03-08T24:00', 'exist'],
    ['2026-03-08T12:60', 'exist'],
    ['2026-03-08T12:00+25:00', 'offset'],
    ['yesterday', 'a date'],
    ['', 'a date'],
    ['0026-01-01', '1900 to 9999'],
  ])('refuses %j', (from, words) => {
    let text = '';
    try {
      parseDateRange({ from }, 'UTC', far);
    } catch (error) {
      const { message, hint } = error as { message: string; hint?: string };
      text = `${message} ${hint ?? ''}`;
    }
    expect(text).toMatch(/^--from: expected /);
    expect(text).toContain(words);
  });

  it('refuses an end before the start', () => {
    const backwards = { from: '2026-03-09', to: '2026-03-08' };
    expect(() => parseDateRange(backwards, 'UTC', far)).toThrow(
      '--to: expected an instant at or after',
    );
  });
});
