/** How late scheduled runs start: 20 schedules, each every second, one runner that leads. Database and jobs share a clock. */
import { percentile } from '../support/figures.mjs';
import { secondJobs } from '../support/second-jobs.mjs';
import { openSystem, until } from '../support/system.mjs';

export const name = 'cron lateness';

export async function measure(target, { small }) {
  const seconds = small ? 5 : 30;
  const lateness = [];
  const dates = new Set();
  const classes = secondJobs(20, (ctx) => {
    lateness.push(Date.now() - ctx.logicalDate.getTime());
    dates.add(`${ctx.dag} ${ctx.logicalDate.toISOString()}`);
  });
  const system = await openSystem(target, classes);
  try {
    await system.startRunner({ concurrency: 100 });
    await until(() => lateness.length >= 40, 30_000);
    lateness.length = 0;
    dates.clear();
    await until(() => lateness.length >= 20 * seconds, (seconds + 30) * 1_000);
    return [
      { figure: `p50 of ${lateness.length} starts`, value: percentile(lateness, 0.5), unit: 'ms' },
      { figure: 'p99', value: percentile(lateness, 0.99), unit: 'ms' },
      { figure: 'starts of one logical date twice', value: lateness.length - dates.size, unit: '' },
    ];
  } finally {
    await system.close();
  }
}
