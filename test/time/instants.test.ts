/**
 * Exact instants of cron expressions, by the library and by `flow next`. The project's own table was computed by a walk over
 * zoneinfo that knows no cron library. A second file of the same form may lie beside the checkout, or where
 * FLOW_TEST_CRON_VECTORS says; nothing depends on it, and what is missing is said.
 */
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import {
  firesBetween,
  nextFires,
  previousFires,
} from '../../packages/core/src/time/schedule/fires.js';
import { flowHere } from '../support/flow-in-process.ts';

interface Vector {
  readonly id: string;
  readonly expr: string;
  readonly tz: string;
  /** Excluded. */
  readonly after: string;
  /** Included. */
  readonly until: string;
  /** All of them. */
  readonly expect: readonly string[];
}

const own = new URL('../fixtures/time/instants.jsonl', import.meta.url);
const beside =
  process.env.FLOW_TEST_CRON_VECTORS ??
  new URL('../../../shared/cases/cron-vectors.jsonl', import.meta.url);

function read(file: URL | string): Vector[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line));
}

/** Each vector by both ways in. */
function judge(vectors: readonly Vector[]): void {
  it.each(vectors)('$id by the library: $expr $tz', (vector) => {
    const schedule = { cron: vector.expr, timeZone: vector.tz };
    const expected = vector.expect.map((text) => new Date(text));
    const after = new Date(vector.after);
    const [first, end] = [after.getTime() + 1, new Date(vector.until).getTime() + 1];
    expect(firesBetween(schedule, new Date(first), new Date(end))).toEqual(expected);
    expect(nextFires(schedule, { after, count: expected.length })).toEqual(expected);
    const before = new Date(end);
    expect(previousFires(schedule, { before, count: expected.length })).toEqual(
      expected.toReversed(),
    );
  });

  it.each(vectors)('$id by flow next: $expr $tz', async (vector) => {
    const { expr, tz, after, until } = vector;
    // One more than there are: the window holds nothing else.
    const count = String(vector.expect.length + 1);
    const args = ['next', '--cron', expr, '--tz', tz, '--from', after, '--count', count, '--json'];
    const { code, stdout } = await flowHere(args, { cwd: tmpdir() });
    expect(code).toBe(0);
    const dates: string[] = JSON.parse(stdout).map(
      (fire: { logicalDate: string }) => fire.logicalDate,
    );
    const inside = dates.filter((date) => new Date(date) <= new Date(until));
    expect(inside).toEqual(vector.expect.map((text) => new Date(text).toISOString()));
  });
}

describe("the project's own instants", () => {
  judge(read(own));
});

if (existsSync(beside)) {
  describe('the instants beside the checkout', () => {
    judge(read(beside));
  });
} else {
  it.skip('no instants beside the checkout: judged by those of the project alone', () => {});
}
