/** Schedules that fire every few seconds, one for each policy, and a daily one for the backfill. */
import { DependsOn, Job, type JobContext } from '@flowline/core';
import { type Effect, effect, waitFor } from './journal.js';

// Set by whoever deploys: nothing fires after it, so that the system can come to rest.
const endAt = process.env.CHAOS_END_AT;
const end = endAt === undefined ? {} : { endAt };

@Job({
  id: 'every-second',
  schedule: { cron: '* * * * * *', ...end },
  misfire: { policy: 'catch-up' },
  overlap: 'allow',
})
export class EverySecond {
  run(ctx: JobContext): Promise<Effect> {
    return effect(ctx, [], () => waitFor(ctx, 50));
  }
}

@Job({ id: 'one-at-a-time', schedule: { cron: '*/2 * * * * *', ...end } })
export class OneAtATime {
  run(ctx: JobContext): Promise<Effect> {
    return effect(ctx, [], () => waitFor(ctx, 300));
  }
}

@Job({ id: 'impatient', schedule: { every: '2s', ...end }, misfire: 'skip', overlap: 'skip' })
export class Impatient {
  run(ctx: JobContext): Promise<Effect> {
    return effect(ctx, [], () => waitFor(ctx, 2_500));
  }
}

@Job({ id: 'newest-only', schedule: { every: '3s', ...end }, overlap: 'cancel-previous' })
export class NewestOnly {
  run(ctx: JobContext): Promise<Effect> {
    return effect(ctx, [], () => waitFor(ctx, 4_000));
  }
}

@Job({ id: 'daily', schedule: { cron: '0 2 * * *' } })
export class Daily {
  run(ctx: JobContext): Promise<Effect> {
    return effect(ctx, [], () => waitFor(ctx, 200));
  }
}

@Job()
@DependsOn(Daily)
export class DailyReport {
  run(ctx: JobContext, daily: Effect): Promise<Effect> {
    return effect(ctx, [daily], () => {});
  }
}
