import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Dag } from '../decorators/dag.js';
import { DependsOn } from '../decorators/depends-on.js';
import { Job } from '../decorators/job.js';
import type { JobOptions } from '../definition/options.js';
import { compile } from './compile.js';

type Decorate = (target: unknown) => void;

/** A DAG with one class per entry; entry `i` depends on entries before it. Classes are decorated in the order `order`. */
function program(dependencies: readonly (readonly number[])[], order: readonly number[]) {
  class Graph {}
  Dag()(Graph);
  const classes = dependencies.map((_, index) => {
    const holder = {
      [`Job${index}`]: class {
        run() {}
      },
    };
    return Object.values(holder)[0]!;
  });
  for (const index of order) {
    const own = [...new Set(dependencies[index]!.map((at) => at % Math.max(index, 1)))];
    const before = index === 0 ? [] : own.map((at) => classes[at]!);
    if (before.length > 0) (DependsOn(...before) as Decorate)(classes[index]);
    (Job({ dag: Graph }) as Decorate)(classes[index]);
  }
  return order.map((index) => classes[index]!);
}

const programs = fc
  .array(fc.array(fc.nat(20), { maxLength: 3 }), { minLength: 1, maxLength: 12 })
  .chain((dependencies) =>
    fc.record({
      dependencies: fc.constant(dependencies),
      order: fc.shuffledSubarray([...dependencies.keys()], { minLength: dependencies.length }),
    }),
  );

describe('the version of a DAG', () => {
  it('does not depend on the order in which classes are decorated or listed', () => {
    fc.assert(
      fc.property(programs, ({ dependencies, order }) => {
        const straight = compile(program(dependencies, [...dependencies.keys()]));
        const mixed = compile(program(dependencies, order));
        expect(mixed.problems).toEqual([]);
        expect(mixed.dags).toEqual(straight.dags);
        expect(JSON.stringify(mixed.dags)).toBe(JSON.stringify(straight.dags));
      }),
      { numRuns: 60 },
    );
  });

  it('does not depend on the order of keys or on defaults being written', () => {
    const versionWith = (options: JobOptions) => {
      class Sync {
        run() {}
      }
      Job(options)(Sync);
      return compile([Sync]).dags[0]?.version;
    };
    const one = versionWith({
      timeout: '1h',
      retry: { attempts: 3, backoff: { delay: '60s', jitter: 'full' } },
      schedule: { cron: '0 2 * * *', timeZone: 'Europe/Paris' },
    });
    const other = versionWith({
      schedule: { timeZone: 'Europe/Paris', cron: '0  2 * * *' },
      queue: 'default',
      retry: { backoff: { jitter: 'full', type: 'exponential', delay: '1m' }, attempts: 3 },
      misfire: { policy: 'coalesce' },
    });
    expect(other).toBe(one);
    expect(versionWith({ timeout: '2h' })).not.toBe(versionWith({}));
    expect(versionWith({ timeout: '60m' })).toBe(versionWith({}));
  });

  it('is pinned: a change here is a new version of every deployed DAG', () => {
    @Job({ schedule: { every: '5m' }, misfire: 'skip' })
    class Heartbeat {
      run() {}
    }
    expect(compile([Heartbeat]).dags[0]?.version).toBe('947eed0f5560f02fb8ee');
  });
});
