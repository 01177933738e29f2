/** Tasks per second that one runner drains: runs of one task that does nothing. */
import { Job } from '@flowline/core';
import { openSystem, parallel } from '../support/system.mjs';

export const name = 'drain, one-task runs';

export async function measure(target, { small }) {
  const count = small ? 500 : 10_000;
  let done = 0;
  let finish = () => {};
  class Noop {
    async run() {
      done += 1;
      if (done === count) finish();
    }
  }
  Job({ id: 'noop', overlap: 'allow' })(Noop);
  const system = await openSystem(target, [Noop]);
  try {
    const createdAt = performance.now();
    await parallel(count, 32, () => system.store.createRun({ dagId: 'noop', cause: 'api' }));
    const createSeconds = (performance.now() - createdAt) / 1000;
    await system.store.admitRuns('noop');
    const all = new Promise((resolve) => {
      finish = resolve;
    });
    const startedAt = performance.now();
    await system.startRunner({ concurrency: 50 });
    await all;
    const seconds = (performance.now() - startedAt) / 1000;
    return [
      {
        figure: `runs created, ${count} by one client`,
        value: count / createSeconds,
        unit: 'runs/s',
      },
      { figure: `drained by one runner, ${count} runs`, value: count / seconds, unit: 'tasks/s' },
    ];
  } finally {
    await system.close();
  }
}
