import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { firesBetween, nextFires, previousFires } from './fires.js';

interface Vector {
  readonly id: string;
  readonly expr: string;
  readonly tz: string;
  readonly after: string;
  readonly until: string;
  readonly expect: readonly string[];
}

// A fuller file of exact instants may lie beside the checkout; the build does not depend on it.
const sharedFile = new URL('../../../../../../shared/cases/cron-vectors.jsonl', import.meta.url);
const shared: Vector[] = existsSync(sharedFile)
  ? readFileSync(sharedFile, 'utf8')
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => JSON.parse(line))
  : [];

describe.skipIf(shared.length === 0)('exact instants beside the checkout', () => {
  it.each(shared)('$id $expr $tz', (vector) => {
    const schedule = { cron: vector.expr, timeZone: vector.tz };
    const after = new Date(vector.after);
    const until = new Date(vector.until);
    const expected = vector.expect.map((text) => new Date(text));
    const between = firesBetween(
      schedule,
      new Date(after.getTime() + 1),
      new Date(until.getTime() + 1),
    );
    expect(between).toEqual(expected);
    expect(nextFires(schedule, { after, count: expected.length })).toEqual(expected);
    const before = new Date(until.getTime() + 1);
    expect(previousFires(schedule, { before, count: expected.length })).toEqual(
      expected.toReversed(),
    );
  });
});
