/** Graphs that are triggered by hand: joins, retries, failures, long tasks, a task that holds its thread. */
import { createHash } from 'node:crypto';
import { DependsOn, Job, type JobContext } from '@flowline/core';
import { type Effect, effect, waitFor } from './journal.js';

/** 0 to 99, the same for all attempts with these words. */
const lot = (...words: readonly (string | number)[]) =>
  (createHash('sha256').update(words.join('/')).digest()[0] as number) % 100;

@Job({ id: 'diamond-top', maxActiveRuns: 3 })
export class DiamondTop {
  run(ctx: JobContext): Promise<Effect> {
    return effect(ctx, [], () => waitFor(ctx, 50));
  }
}

@Job()
@DependsOn(DiamondTop)
export class DiamondLeft {
  run(ctx: JobContext, top: Effect): Promise<Effect> {
    return effect(ctx, [top], () => waitFor(ctx, 200));
  }
}

@Job()
@DependsOn(DiamondTop)
export class DiamondRight {
  run(ctx: JobContext, top: Effect): Promise<Effect> {
    return effect(ctx, [top], () => waitFor(ctx, 200));
  }
}

@Job()
@DependsOn(DiamondLeft, DiamondRight)
export class DiamondBottom {
  run(ctx: JobContext, left: Effect, right: Effect): Promise<Effect> {
    return effect(ctx, [left, right], () => waitFor(ctx, 50));
  }
}

/** Fails in most of its first attempts; some runs use all four up. */
@Job({
  id: 'flaky',
  overlap: 'allow',
  retry: {
    attempts: 4,
    backoff: { type: 'exponential', delay: '200ms', max: '2s', jitter: 'full' },
  },
})
export class Flaky {
  run(ctx: JobContext): Promise<Effect> {
    return effect(ctx, [], async () => {
      await waitFor(ctx, 100);
      if (lot(ctx.idempotencyKey, ctx.attempt) < 55) throw new Error('not this time');
    });
  }
}

@Job()
@DependsOn(Flaky)
export class AfterFlaky {
  run(ctx: JobContext, flaky: Effect): Promise<Effect> {
    return effect(ctx, [flaky], () => {});
  }
}

@Job({ id: 'doomed', overlap: 'allow', retry: { attempts: 2, backoff: { delay: '100ms' } } })
export class Doomed {
  run(ctx: JobContext): Promise<Effect> {
    return effect(ctx, [], () => {
      throw new Error('always');
    });
  }
}

@Job()
@DependsOn(Doomed)
export class NeverReached {
  run(ctx: JobContext, doomed: Effect): Promise<Effect> {
    return effect(ctx, [doomed], () => {});
  }
}

/** What kills and stops are most likely to hit. */
@Job({ id: 'long', overlap: 'allow', maxLost: 10 })
export class Long {
  run(ctx: JobContext): Promise<Effect> {
    return effect(ctx, [], () => waitFor(ctx, 6_000));
  }
}

/** Must not start twice. */
@Job({ id: 'fragile', overlap: 'allow', onLost: 'fail' })
export class Fragile {
  run(ctx: JobContext): Promise<Effect> {
    return effect(ctx, [], () => waitFor(ctx, 2_000));
  }
}

/** Holds its thread in its first attempt: only the thread that keeps leases lives on. */
@Job({ id: 'blocking' })
export class Blocking {
  run(ctx: JobContext): Promise<Effect> {
    return effect(ctx, [], () => {
      const end = performance.now() + Number(process.env.CHAOS_BLOCK_MS ?? 45_000);
      while (ctx.attempt === 1 && performance.now() < end);
    });
  }
}

@Job({ id: 'fan', maxActiveRuns: 2 })
export class Fan {
  run(ctx: JobContext): Promise<Effect> {
    return effect(ctx, [], () => {});
  }
}

function blade(index: number) {
  class Blade {
    run(ctx: JobContext, fan: Effect): Promise<Effect> {
      return effect(ctx, [fan], () => waitFor(ctx, 20 * index));
    }
  }
  DependsOn(Fan)(Blade);
  Job({ id: `blade-${index}` })(Blade);
  return Blade;
}
export const Blade1 = blade(1);
export const Blade2 = blade(2);
export const Blade3 = blade(3);
export const Blade4 = blade(4);
export const Blade5 = blade(5);
export const Blade6 = blade(6);

@Job()
@DependsOn(Blade1, Blade2, Blade3, Blade4, Blade5, Blade6)
export class FanJoin {
  run(ctx: JobContext, ...blades: Effect[]): Promise<Effect> {
    return effect(ctx, blades, () => {});
  }
}
