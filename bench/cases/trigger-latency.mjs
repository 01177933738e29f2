/** From the call that triggers a run to the first line of its job, on an idle system; trigger and runner in two stores. */
import { Job } from '@flowline/core';
import { connectStore } from '@flowline/core/internal';
import { percentile } from '../support/figures.mjs';
import { openSystem, until } from '../support/system.mjs';

export const name = 'trigger to start';

export async function measure(target, { small }) {
  const started = new Map();
  class Tick {
    async run(ctx) {
      started.set(ctx.runId, performance.now());
    }
  }
  Job({ id: 'tick', overlap: 'allow' })(Tick);
  const system = await openSystem(target, [Tick]);
  const other = await connectStore(system.connection);
  try {
    await system.startRunner();
    const latencies = [];
    for (let round = 0; round < (small ? 20 : 200); round += 1) {
      const at = performance.now();
      const { runId } = await other.createRun({ dagId: 'tick', cause: 'api' });
      await other.admitRuns('tick');
      await until(() => started.has(runId), 30_000, 1);
      if (round > 0) latencies.push(started.get(runId) - at);
    }
    return [
      { figure: `p50 of ${latencies.length}`, value: percentile(latencies, 0.5), unit: 'ms' },
      { figure: 'p99', value: percentile(latencies, 0.99), unit: 'ms' },
    ];
  } finally {
    await other.close();
    await system.close();
  }
}
