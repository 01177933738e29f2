/** A diamond of 12 tasks, 1 -> 10 -> 1: rate of many at once, and the makespan of one on an idle system. */
import { DependsOn, Job } from '@flowline/core';
import { median, percentile } from '../support/figures.mjs';
import { openSystem, parallel, until } from '../support/system.mjs';

export const name = 'diamond of 12 tasks';

function diamond(onEnd) {
  class Split {
    async run() {
      return 1;
    }
  }
  Job({ id: 'diamond', overlap: 'allow' })(Split);
  const middles = Array.from({ length: 10 }, (_, index) => {
    class Middle {
      async run(_ctx, value) {
        return value + index;
      }
    }
    DependsOn(Split)(Middle);
    Job({ id: `middle-${index}` })(Middle);
    return Middle;
  });
  class Join {
    async run(ctx, ...values) {
      onEnd(ctx.runId, values.length);
    }
  }
  DependsOn(...middles)(Join);
  Job({ id: 'join' })(Join);
  return [Split, ...middles, Join];
}

export async function measure(target, { small }) {
  const count = small ? 20 : 200;
  const ended = new Map();
  const system = await openSystem(
    target,
    diamond((runId) => ended.set(runId, performance.now())),
  );
  try {
    await system.startRunner({ concurrency: 50 });
    const trigger = async () => {
      const { runId } = await system.store.createRun({ dagId: 'diamond', cause: 'api' });
      await system.store.admitRuns('diamond');
      return runId;
    };
    // The first run pays for the definition and the connections.
    const warm = await trigger();
    await until(() => ended.has(warm), 30_000);
    const makespans = [];
    for (let round = 0; round < (small ? 5 : 20); round += 1) {
      const at = performance.now();
      const runId = await trigger();
      await until(() => ended.has(runId), 30_000, 1);
      makespans.push(ended.get(runId) - at);
    }
    const before = ended.size;
    const startedAt = performance.now();
    await parallel(count, 16, trigger);
    await until(() => ended.size - before >= count, 300_000);
    const seconds = (performance.now() - startedAt) / 1000;
    return [
      {
        figure: `makespan, idle system, median of ${makespans.length}`,
        value: median(makespans),
        unit: 'ms',
      },
      { figure: 'makespan, idle system, p90', value: percentile(makespans, 0.9), unit: 'ms' },
      { figure: `rate, ${count} runs at once, one runner`, value: count / seconds, unit: 'runs/s' },
      {
        figure: `rate, ${count} runs at once, one runner`,
        value: (count * 12) / seconds,
        unit: 'tasks/s',
      },
    ];
  } finally {
    await system.close();
  }
}
