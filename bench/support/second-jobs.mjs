/** Jobs that fire every second, each a DAG of its own; `onStart` is called in their first line. */
import { Job } from '@flowline/core';

export function secondJobs(count, onStart) {
  return Array.from({ length: count }, (_, index) => {
    class Second {
      async run(ctx) {
        onStart(ctx);
      }
    }
    Job({ id: `second-${index}`, schedule: { cron: '* * * * * *' }, overlap: 'allow' })(Second);
    return Second;
  });
}
