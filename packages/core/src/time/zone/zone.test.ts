import { describe, expect, it } from 'vitest';
import { formatLocal, localOf, resolveLocal } from './local-time.js';
import { timeZoneProblem, zoneOf } from './zone.js';

const utc = (text: string) => Date.parse(`${text}Z`);

describe('timeZoneProblem', () => {
  it.each([
    'UTC',
    'Europe/Paris',
    'Asia/Kolkata',
    'Etc/GMT-1',
    'America/Port-au-Prince',
    'EST',
    'CET',
  ])('accepts %s', (name) => {
    expect(timeZoneProblem(name)).toBeUndefined();
  });

  it.each([
    ['Europe/Pariss', "'Europe/Paris'"],
    ['europe/paris', "'Europe/Paris'"],
    ['Mars/Olympus', 'IANA'],
    ['PST', 'IANA'],
    ['+01:00', 'Etc/GMT-1'],
    ['UTC+2', 'Etc/GMT-1'],
    ['', 'UTC'],
    [' UTC', 'UTC'],
    [5, 'UTC'],
  ])('refuses %j and says what to write', (name, words) => {
    const problem = timeZoneProblem(name);
    expect(`${problem?.message} ${problem?.hint}`).toContain(words);
  });
});

describe('zoneOf', () => {
  it('cuts time at the changes of offset', () => {
    const zone = zoneOf('America/New_York');
    const summer = zone.segmentAt(utc('2026-07-01T00:00'));
    expect(summer).toEqual({
      from: utc('2026-03-08T07:00'),
      to: utc('2026-11-01T06:00'),
      offsetMs: -4 * 3_600_000,
      offsetBeforeMs: -5 * 3_600_000,
      offsetAfterMs: -5 * 3_600_000,
    });
    expect(zone.segmentAt(summer.from)).toBe(summer);
    expect(zone.segmentAt(summer.from - 1).to).toBe(summer.from);
    expect(zone.segmentAt(summer.to).from).toBe(summer.to);
    expect(zone.segmentAt(summer.to - 1)).toBe(summer);
  });

  it('knows zones without changes, and changes after 2037', () => {
    expect(zoneOf('UTC').segmentAt(0)).toMatchObject({
      from: -Infinity,
      to: Infinity,
      offsetMs: 0,
    });
    const late = zoneOf('America/New_York').segmentAt(utc('2040-07-01T00:00'));
    expect(late.offsetMs).toBe(-4 * 3_600_000);
  });

  it('gives the same segments in whatever order they are asked for', () => {
    const instants = [2026, 2001, 2039, 2010, 2026, 1999].map((year) => Date.UTC(year, 5, 1));
    for (const at of instants) {
      const segment = zoneOf('Africa/Casablanca').segmentAt(at);
      expect(segment.from <= at && at < segment.to).toBe(true);
    }
  });
});

describe('resolveLocal', () => {
  const newYork = zoneOf('America/New_York');

  it('finds one instant, the moved one in a gap, both in an overlap', () => {
    expect(resolveLocal(newYork, utc('2026-06-01T12:00'))).toMatchObject({
      kind: 'unique',
      first: utc('2026-06-01T16:00'),
    });
    expect(resolveLocal(newYork, utc('2026-03-08T02:30'))).toEqual({
      kind: 'gap',
      first: utc('2026-03-08T07:30'),
      second: utc('2026-03-08T07:30'),
    });
    expect(resolveLocal(newYork, utc('2026-11-01T01:30'))).toEqual({
      kind: 'overlap',
      first: utc('2026-11-01T05:30'),
      second: utc('2026-11-01T06:30'),
    });
  });

  it('moves a date that a zone skipped by a whole day', () => {
    const apia = zoneOf('Pacific/Apia');
    expect(resolveLocal(apia, utc('2011-12-30T08:00')).first).toBe(utc('2011-12-30T18:00'));
  });

  it('shows the wall clock', () => {
    expect(formatLocal(newYork, utc('2026-03-08T07:30'))).toBe('2026-03-08T03:30:00-04:00');
    expect(formatLocal(zoneOf('Asia/Kathmandu'), utc('2026-01-01T00:15'))).toBe(
      '2026-01-01T06:00:00+05:45',
    );
    expect(formatLocal(zoneOf('UTC'), 5)).toBe('1970-01-01T00:00:00.005+00:00');
    expect(localOf(newYork, utc('2026-03-08T07:30'))).toBe(utc('2026-03-08T03:30'));
  });
});
