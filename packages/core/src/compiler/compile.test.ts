import { describe, expect, it } from 'vitest';
import { Dag } from '../decorators/dag.js';
import { DependsOn } from '../decorators/depends-on.js';
import { Job } from '../decorators/job.js';
import type { JobContext } from '../definition/job-context.js';
import { compile } from './compile.js';

interface Order {
  readonly id: number;
}

describe('compile', () => {
  it('turns the classes of the manual into two DAGs', () => {
    @Dag({
      schedule: { cron: '0 2 * * *', timeZone: 'Europe/Paris' },
      misfire: { policy: 'coalesce', grace: '5m' },
      overlap: 'queue',
      maxActiveRuns: 1,
    })
    class NightlySales {
      declare params: { day: string };
    }

    @Job({
      dag: NightlySales,
      retry: {
        attempts: 5,
        backoff: { type: 'exponential', delay: '2s', max: '5m', jitter: 'full' },
      },
      timeout: '10m',
    })
    class ExtractOrders {
      async run(_ctx: JobContext): Promise<Order[]> {
        return [];
      }
    }

    @Job({ dag: NightlySales })
    class ExtractRates {
      async run(): Promise<Map<string, number>> {
        return new Map();
      }
    }

    @Job()
    @DependsOn(ExtractOrders, ExtractRates)
    class Convert {
      async run(_ctx: JobContext, orders: Order[], rates: Map<string, number>) {
        return orders.length + rates.size;
      }
    }

    @Job({ schedule: { every: '5m' }, misfire: 'skip' })
    class Heartbeat {
      async run() {}
    }

    const { dags, problems } = compile([Convert, Heartbeat]);
    expect(problems).toEqual([]);
    expect(dags.map(({ id }) => id)).toEqual(['heartbeat', 'nightly-sales']);
    const [heartbeat, sales] = dags;
    expect(heartbeat?.definition).toMatchObject({
      schema: 1,
      id: 'heartbeat',
      schedule: { kind: 'every', everyMs: 300_000 },
      misfire: { policy: 'skip', maxCatchUp: 100 },
      jobs: [{ id: 'heartbeat', dependsOn: [] }],
    });
    expect(sales?.definition).toMatchObject({
      misfire: { policy: 'coalesce', graceMs: 300_000 },
      overlap: 'queue',
      maxActiveRuns: 1,
      retention: { runsMs: 30 * 86_400_000, logsMs: 7 * 86_400_000 },
      jobs: [
        {
          id: 'extract-orders',
          timeoutMs: 600_000,
          retry: {
            attempts: 5,
            backoff: {
              type: 'exponential',
              delayMs: 2_000,
              maxMs: 300_000,
              factor: 2,
              jitter: 'full',
            },
          },
        },
        { id: 'extract-rates', timeoutMs: 3_600_000, queue: 'default', maxLost: 3 },
        { id: 'convert', dependsOn: ['extract-orders', 'extract-rates'] },
      ],
    });
    expect(sales?.version).toMatch(/^[0-9a-f]{20}$/);
  });
});
