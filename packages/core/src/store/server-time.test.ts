import { describe, expect, it } from 'vitest';
import { narrowingSlackMs, narrowTo, ServerClock } from './server-time.js';

function clockAt() {
  const world = { serverMs: 1_000_000, monotonicMs: 5, wallMs: 9_000_000, readings: 0, tripMs: 40 };
  const clock = new ServerClock({
    read: async () => {
      world.readings += 1;
      const answer = new Date(world.serverMs);
      world.monotonicMs += world.tripMs;
      return answer;
    },
    monotonicMs: () => world.monotonicMs,
    wallMs: () => world.wallMs,
  });
  return { world, clock };
}

describe('ServerClock', () => {
  it('goes on from the last reading by the monotonic clock, whatever the wall clock does', async () => {
    const { world, clock } = clockAt();
    await clock.read();
    world.monotonicMs += 1_000;
    world.wallMs -= 600_000;
    expect(clock.estimate().getTime()).toBe(1_000_000 + 20 + 1_000);
  });

  it('tells how far off this process is', async () => {
    const { clock } = clockAt();
    expect(clock.offsetMs).toBe(0);
    await clock.read();
    expect(clock.offsetMs).toBe(8_000_000 - 20);
  });

  it('is the wall clock before the first reading', () => {
    expect(clockAt().clock.estimate().getTime()).toBe(9_000_000);
  });

  it('reads again only when the reading is old', async () => {
    const { world, clock } = clockAt();
    await clock.fresh();
    await clock.fresh();
    expect(world.readings).toBe(1);
    world.monotonicMs += 10_001;
    // The server's clock was stepped forward by an hour.
    world.serverMs += 3_600_000;
    expect((await clock.fresh()).getTime()).toBe(1_000_000 + 3_600_000 + 20);
    expect(world.readings).toBe(2);
  });

  it('narrows later than the estimate, so that the server decides', async () => {
    const { clock } = clockAt();
    expect((await narrowTo(clock)).getTime()).toBe(1_000_020 + narrowingSlackMs);
  });
});
