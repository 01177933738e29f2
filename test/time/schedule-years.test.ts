/**
 * Two years of 200 DAGs with a clock by hand: outages, pauses, deploys, retirements, and leaders that die between any two steps.
 * The state machine is the store's own, the judge naive and independent: every date that came due is accounted for exactly
 * once, as its policy says. FLOW_TEST_SEED chooses other years.
 */
import { describe, expect, it } from 'vitest';
import { beginMs, endMs } from './years/calendars.ts';
import { judge, type Variant } from './years/judge.ts';
import { type Random, randomOf } from './years/random.ts';
import { onResumes, variantsOf } from './years/variants.ts';
import { Killed, World } from './years/world.ts';

const seed = Number(process.env.FLOW_TEST_SEED ?? 20_261_130);
const dagCount = 200;
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** When somebody leads: `[from, to)`, ascending. Short gaps are a change of leader, long ones an outage. */
function leaders(random: Random): { from: number; to: number }[] {
  const spans: { from: number; to: number }[] = [];
  for (let from = beginMs; from < endMs + day; ) {
    const to = from + random.whole(hour, 30 * day);
    spans.push({ from, to });
    const kind = random.next();
    if (kind < 0.6) from = to + random.whole(1_000, minute);
    else if (kind < 0.9) from = to + random.whole(minute, 8 * hour);
    else from = to + random.whole(8 * hour, 6 * day);
  }
  return spans;
}

/** How late a leader that lives looks. */
function delay(random: Random): number {
  const kind = random.next();
  if (kind < 0.9) return random.whole(0, 300);
  return kind < 0.99 ? random.whole(300, 5_000) : random.whole(5_000, 3 * minute);
}

function act(world: World, variants: readonly Variant[], now: number, random: Random): void {
  const kind = random.next();
  if (world.state.state === 'retired') world.deploy(random.whole(0, variants.length - 1), now);
  else if (world.state.pausedAt !== null && kind < 0.6) {
    world.resume(now, random.pick([null, ...onResumes]));
  } else if (kind < 0.35) world.pause(now);
  else if (kind < 0.9) world.deploy(random.whole(0, variants.length - 1), now);
  else world.retire(now);
}

function live(
  world: World,
  variants: readonly Variant[],
  random: Random,
  leading: ReturnType<typeof leaders>,
) {
  let now = beginMs;
  let span = 0;
  let nextAct = now + random.whole(hour, 60 * day);
  while (now < endMs) {
    // The next look of a leader: when something is due, while somebody leads.
    let wake = Math.max(world.wakeAt, now);
    while (leading[span]!.to <= now) span += 1;
    if (wake < endMs) {
      let then = span;
      while (leading[then]!.to <= wake) then += 1;
      wake = Math.max(wake, leading[then]!.from) + delay(random);
    }
    now = Math.min(wake, nextAct);
    if (now >= endMs) break;
    const isAct = nextAct <= wake;
    if (random.chance(isAct ? 0.3 : 0.03)) world.left = random.whole(0, 12);
    try {
      if (isAct) act(world, variants, now, random);
      else world.settle(now);
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      // Somebody else comes, or the same person again.
      now += random.whole(1_000, 30_000);
    }
    world.left = Number.POSITIVE_INFINITY;
    if (isAct) nextAct = now + random.whole(hour, 60 * day);
  }
  world.resume(endMs, null);
  world.settle(endMs);
}

describe(`two years of ${dagCount} DAGs (FLOW_TEST_SEED=${seed})`, () => {
  it('leave every date that came due accounted for exactly once, as its policy says', {
    timeout: 240_000,
  }, () => {
    const leading = leaders(randomOf(seed));
    let [dates, inPieces] = [0, 0];
    const seen = new Set<string>();
    for (let number = 0; number < dagCount; number += 1) {
      const random = randomOf(seed + 1 + number);
      const id = `dag-${number}`;
      const variants = variantsOf(id, random);
      const world = new World((variant) => variants[variant]!.definition, 0, beginMs);
      try {
        live(world, variants, random, leading);
        const verdict = judge(id, world, variants);
        dates += verdict.dates;
        inPieces += verdict.inPieces;
      } catch (error) {
        throw new Error(`FLOW_TEST_SEED=${seed}, ${id}: ${(error as Error).message}`, {
          cause: error,
        });
      }
      for (const { cause } of world.runs.values()) seen.add(cause);
      for (const { reason } of world.lines.values()) seen.add(reason);
    }
    console.info(`seed ${seed}: ${dates} dates, ${inPieces} of them settled in pieces`);
    expect(dates).toBeGreaterThan(200_000);
    expect(inPieces).toBeLessThan(dates / 10);
    expect([...seen].sort()).toEqual([
      'capped',
      'catch-up',
      'excluded',
      'expired',
      'paused',
      'schedule',
      'skipped',
    ]);
  });
});
