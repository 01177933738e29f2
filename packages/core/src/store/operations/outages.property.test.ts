import fc from 'fast-check';
import { expect, test } from 'vitest';
import { putOffMs } from './outages.js';
import type { Silence } from './presence.js';

const leaseMs = 20_000;
const quarterMs = leaseMs / 4;

/** Heartbeats as presence.ts writes them down: pauses of a quarter and more, and the open one up to `now`. */
function silencesOf(heard: readonly number[], now: number): Silence[] {
  const instants = [...heard.filter((at) => at <= now).sort((a, b) => a - b), now];
  return instants
    .slice(1)
    .map((to, index) => ({ from: new Date(instants[index]!), to: new Date(to) }))
    .filter(({ from, to }) => to.getTime() - from.getTime() >= quarterMs);
}

const isRescuable = (expiresAt: number, heard: readonly number[], now: number) =>
  now >= expiresAt + putOffMs(new Date(expiresAt), leaseMs, silencesOf(heard, now));

const outages = fc.record({
  /** When each runner was heard first; the first of them is the holder. */
  phases: fc.array(fc.integer({ min: 0, max: quarterMs - 1 }), { minLength: 1, maxLength: 5 }),
  lengthMs: fc.integer({ min: 0, max: 4 * leaseMs }),
  beginMs: fc.integer({ min: leaseMs, max: leaseMs + quarterMs }),
  /** How long after the return each of them is heard. */
  returnMs: fc.array(fc.integer({ min: 0, max: 1.5 * quarterMs }), { minLength: 5, maxLength: 5 }),
});

test('a living holder has more than a third of a lease to renew after the database is back', () => {
  fc.assert(
    fc.property(outages, ({ phases, lengthMs, beginMs, returnMs }) => {
      const endMs = beginMs + lengthMs;
      const before = phases.map((phase) => {
        const beats: number[] = [];
        for (let at = phase; at < beginMs; at += quarterMs) beats.push(at);
        return beats;
      });
      const renewedAt = before[0]!.at(-1)!;
      const heard = [...before.flat(), ...phases.map((_, index) => endMs + returnMs[index]!)];
      for (let now = beginMs; now < endMs + 1.5 * quarterMs; now += 250) {
        expect(isRescuable(renewedAt + leaseMs, heard, now)).toBe(false);
      }
    }),
  );
});

test('a dead holder is held back for no longer than the silences, nor than a lease after the last of them', () => {
  const pauses = fc.array(fc.integer({ min: 1, max: 2 * leaseMs }), {
    minLength: 1,
    maxLength: 20,
  });
  fc.assert(
    fc.property(pauses, fc.integer({ min: 0, max: 3 * leaseMs }), (list, renewedAt) => {
      let now = 0;
      const heard = [0, ...list.map((pause) => (now += pause))];
      // From here on somebody is heard all the time.
      const last = now;
      for (; now < last + 10 * leaseMs; now += 1_000) heard.push(now);
      const expiresAt = renewedAt + leaseMs;
      const touching = silencesOf(heard, now).filter(({ to }) => to.getTime() > renewedAt);
      const sum = touching.reduce((ms, { from, to }) => ms + to.getTime() - from.getTime(), 0);
      const latest = Math.max(expiresAt, Math.min(expiresAt + sum, last + leaseMs));
      expect(isRescuable(expiresAt, heard, latest)).toBe(true);
    }),
  );
});

test('where somebody is heard all the time, and where all heartbeats come half as late again, nothing is put off', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1.5 * quarterMs }), (pause) => {
      const heard = Array.from({ length: 200 }, (_, index) => index * pause);
      const now = heard.at(-1)!;
      expect(putOffMs(new Date(now), leaseMs, silencesOf(heard, now))).toBe(0);
    }),
  );
});
