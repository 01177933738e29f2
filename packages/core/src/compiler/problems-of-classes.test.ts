import { describe, expect, it } from 'vitest';
import { Dag } from '../decorators/dag.js';
import { DependsOn } from '../decorators/depends-on.js';
import { Job } from '../decorators/job.js';
import { compile } from './compile.js';

/** `code at path` of each problem. */
function found(classes: readonly unknown[]): string[] {
  return compile(classes).problems.map(({ code, path }) => `${code} at ${path}`);
}

function only(classes: readonly unknown[]) {
  const { problems } = compile(classes);
  expect(problems).toHaveLength(1);
  return problems[0]!;
}

@Dag()
class Sales {}
@Dag()
class Costs {}
@Job({ dag: Sales })
class Orders {
  run() {}
}
@Job({ dag: Costs })
class Bills {
  run() {}
}

describe('ids', () => {
  it('are unique in a DAG, and both files are named', () => {
    @Job({ dag: Sales, id: 'orders' })
    class Copy {
      run() {}
    }
    const problem = only([Copy, Orders]);
    expect(problem).toMatchObject({ code: 'duplicate-job-id', path: 'Sales > Copy > id' });
    expect(problem.message).toMatch(/Copy \(.*\.ts:\d+\) and Orders \(.*\.ts:\d+\)/);
  });

  it('may repeat in another DAG', () => {
    @Job({ dag: Costs, id: 'orders' })
    class Copy {
      run() {}
    }
    expect(found([Copy, Orders])).toEqual([]);
  });

  it('of DAGs are unique', () => {
    @Job({ id: 'sales' })
    class Other {
      run() {}
    }
    expect(found([Other, Orders])).toEqual(['duplicate-dag-id at Other > id']);
  });

  it('are short enough for a key', () => {
    @Dag({ id: 'd'.repeat(100) })
    class Long {}
    @Job({ dag: Long, id: 'j'.repeat(87) })
    class TooLong {
      run() {}
    }
    @Job({ dag: Long, id: 'k'.repeat(86) })
    class JustRight {
      run() {}
    }
    expect(found([TooLong, JustRight])).toEqual(['id-too-long at Long > TooLong > id']);
    const key = compile([JustRight]).dags[0]?.definition.jobs[0]?.serveKey;
    expect(key).toHaveLength(200);
  });

  it('of nameless classes must be given', () => {
    const nameless = (() =>
      class {
        run() {}
      })();
    Job()(nameless);
    const problem = only([nameless]);
    expect(problem.code).toBe('id-invalid');
    expect(problem.hint).toContain("@Job({ id: '...' })");
  });
});

describe('classes', () => {
  it('must be decorated to be compiled', () => {
    class Plain {}
    expect(found([Plain])).toEqual(['not-decorated at Plain']);
    expect(found([undefined, 7])).toEqual(['not-decorated at 7', 'not-decorated at undefined']);
  });

  it('need @Job beside @DependsOn', () => {
    @DependsOn(Orders)
    class Forgotten {
      run() {}
    }
    expect(found([Forgotten])).toEqual(['job-missing at Forgotten']);
  });

  it('are a DAG or a job, not both', () => {
    @Dag()
    @Job()
    class Mixed {
      run() {}
    }
    expect(found([Mixed])).toEqual(['dag-and-job at Mixed']);
  });

  it('need a method run and a constructor without arguments', () => {
    const Wrong = class Wrong {
      run = () => {};
      constructor(readonly url: string) {}
    };
    (Job() as (target: unknown) => void)(Wrong);
    expect(found([Wrong])).toEqual(['constructor-parameters at Wrong', 'run-missing at Wrong']);
  });

  it('may inherit run, but not the decorator', () => {
    class Base {
      run() {}
    }
    Job({ id: 'base' })(Base);
    class Child extends Base {}
    expect(found([Child])).toEqual(['not-decorated at Child']);
    Job()(Child);
    expect(compile([Child]).dags[0]?.definition.id).toBe('child');
  });
});

describe('reports', () => {
  it('name six faults of one code base at once', () => {
    @Job({ dag: Sales })
    @DependsOn(Orders, () => Left)
    class Right {
      run() {}
    }
    @Job()
    @DependsOn(Right)
    class Left {
      run() {}
    }
    class Plain {
      run() {}
    }
    @Job({ dag: Sales, id: 'orders' })
    @DependsOn(Plain as never)
    class Copy {
      run() {}
    }
    @Job({ schedule: { cron: '0 25 * * *', timeZone: 'Europe/Pari' }, timeout: '10 min' })
    class Clock {
      run() {}
    }
    expect(found([Left, Right, Copy, Clock])).toEqual([
      'cycle at Sales > Left > dependsOn',
      'duplicate-job-id at Sales > Copy > id',
      'dependency-unknown at Sales > Copy > dependsOn[0]',
      'cron-field at Clock > schedule.cron',
      'time-zone at Clock > schedule.timeZone',
      'duration at Clock > timeout',
    ]);
    const { problems } = compile([Left, Right, Copy, Clock]);
    expect(problems.every(({ file, line }) => file?.endsWith('.ts') && line! > 0)).toBe(true);
  });

  it('name the file and the line of the decorator', () => {
    const line = Number(/problems-of-classes\.test\.ts:(\d+)/.exec(new Error().stack ?? '')?.[1]);
    @Job({ timeout: 'soon' })
    class Late {
      run() {}
    }
    const problem = only([Late]);
    expect(problem.file).toMatch(/^\/.*problems-of-classes\.test\.ts$/);
    expect(problem.line).toBe(line + 1);
  });

  it('about dependencies name the line of @DependsOn', () => {
    const line = Number(/problems-of-classes\.test\.ts:(\d+)/.exec(new Error().stack ?? '')?.[1]);
    @Job()
    @DependsOn(Orders, Orders)
    class Convert {
      run() {}
    }
    expect(only([Convert]).line).toBe(line + 2);
  });

  it('do not stop sound DAGs from being compiled', () => {
    @Job({ timeout: 'soon' })
    class Late {
      run() {}
    }
    expect(compile([Late, Orders]).dags.map(({ id }) => id)).toEqual(['sales']);
  });

  it('come in one order, whatever the order of the classes', () => {
    @Job({ timeout: 'soon', queue: 'NO' })
    class First {
      run() {}
    }
    @Job({ priority: 1_000, dag: Orders as never })
    @DependsOn(First)
    class Second {
      run() {}
    }
    const classes = [First, Second, Orders, Bills, class Plain {}];
    expect(compile(classes.toReversed()).problems).toEqual(compile(classes).problems);
  });
});
