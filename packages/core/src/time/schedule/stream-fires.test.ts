import { describe, expect, it } from 'vitest';
import { firesBetween } from './fires.js';
import type { ScheduleInput } from './schedule-input.js';
import { streamFires } from './stream-fires.js';

const from = new Date('2026-01-01T00:00:00Z');
const to = new Date('2027-01-01T00:00:00Z');

describe('a year of fires as a stream', () => {
  it.each<ScheduleInput>([
    { cron: '* * * * *', timeZone: 'America/New_York' },
    { every: '1m' },
    { cron: '*/7 1-5 * * *', timeZone: 'Australia/Lord_Howe', exclude: ['2026-04-05'] },
  ])('is what firesBetween gives, in pieces: %j', async (schedule) => {
    const all: number[] = [];
    let largest = 0;
    for await (const fires of streamFires(schedule, from, to)) {
      largest = Math.max(largest, fires.length);
      for (const fire of fires) all.push(fire.getTime());
    }
    expect(largest).toBe(1_000);
    expect(all).toEqual(firesBetween(schedule, from, to).map((fire) => fire.getTime()));
  });

  it('lets the event loop have its turn between any two pieces', async () => {
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns += 1;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    let pieces = 0;
    for await (const _ of streamFires({ every: '1m' }, from, to)) pieces += 1;
    isOver = true;
    expect(pieces).toBe(526);
    expect(turns).toBeGreaterThanOrEqual(pieces - 1);
  });

  it('ends when its consumer does, and gives nothing for an empty range', async () => {
    for await (const fires of streamFires({ every: '1s' }, from, new Date('9999-01-01'))) {
      expect(fires[0]).toEqual(from);
      break;
    }
    const none = [];
    for await (const fires of streamFires({ every: '1m' }, to, from)) none.push(fires);
    expect(none).toEqual([]);
  });
});
