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

describe('cycles', () => {
  it('are shown as a path from the first id', () => {
    @Job()
    class Alpha {
      run() {}
    }
    @Job()
    @DependsOn(() => Third)
    class Second {
      run() {}
    }
    @Job()
    @DependsOn(Second, Alpha)
    class Third {
      run() {}
    }
    const problem = only([Alpha, Second, Third]);
    expect(problem).toMatchObject({ code: 'cycle', path: 'Alpha > Second > dependsOn' });
    expect(problem.message).toContain('found Second -> Third -> Second');
  });

  it('are found when a job waits for itself', () => {
    @Job()
    @DependsOn(() => Loop)
    class Loop {
      run() {}
    }
    expect(only([Loop]).message).toContain('Loop -> Loop');
  });

  it('are reported one for each edge that closes one', () => {
    @Job()
    @DependsOn(
      () => B,
      () => C,
    )
    class A {
      run() {}
    }
    @Job()
    @DependsOn(A)
    class B {
      run() {}
    }
    @Job()
    @DependsOn(A)
    class C {
      run() {}
    }
    const messages = compile([A, B, C]).problems.map(({ message }) => message);
    expect(messages).toEqual([
      expect.stringContaining('A -> B -> A'),
      expect.stringContaining('A -> C -> A'),
    ]);
  });
});

describe('dependencies', () => {
  it('that do not exist yet are put down to a circular import', () => {
    @Job()
    @DependsOn(undefined as never)
    class Convert {
      run() {}
    }
    const problem = only([Convert]);
    expect(problem).toMatchObject({ code: 'dependency-undefined', path: 'Convert > dependsOn[0]' });
    expect(problem.message).toMatch(/found undefined.*import each other/);
    expect(problem.hint).toContain('@DependsOn(() => TheJob)');
  });

  it('whose function throws say what it threw', () => {
    @Job()
    @DependsOn(() => {
      throw new ReferenceError("Cannot access 'A' before initialization");
    })
    class Convert {
      run() {}
    }
    expect(only([Convert]).message).toContain("threw: Cannot access 'A' before initialization");
  });

  it.each([
    [
      'a class without @Job',
      class Plain {
        run() {}
      },
      /found Plain, a class without it/,
      /Add @Job/,
    ],
    ['a DAG', Sales, /found Sales, which is a @Dag/, /@Job\(\{ dag: Sales \}\)/],
    ['a name', 'orders', /found "orders"/, /without quotes/],
    ['a number', 7, /found 7/, /@Job/],
  ])('on %s are unknown', (_, dependency, message, hint) => {
    @Job()
    @DependsOn(dependency as never)
    class Convert {
      run() {}
    }
    const problem = compile([Convert, Orders]).problems.find(({ path }) =>
      path.includes('Convert'),
    );
    expect(problem?.code).toBe('dependency-unknown');
    expect(problem?.message).toMatch(message);
    expect(problem?.hint).toMatch(hint);
  });

  it('are listed once', () => {
    @Job()
    @DependsOn(Orders, Orders)
    class Convert {
      run() {}
    }
    expect(found([Convert])).toEqual(['dependency-twice at Sales > Convert > dependsOn[1]']);
  });

  it('must cover the parameters of run', () => {
    @Job()
    @DependsOn(Orders)
    class Convert {
      run(_ctx: unknown, _orders?: unknown) {}
    }
    @Job({ dag: Sales })
    class Convert2 {
      run(_ctx: unknown, _orders: unknown) {}
    }
    expect(found([Convert, Convert2])).toEqual(['run-parameters at Sales > Convert2']);
  });
});

describe('graphs', () => {
  it('have one DAG per job: two that meet downstream', () => {
    @Job()
    @DependsOn(Orders, Bills)
    class Profit {
      run() {}
    }
    @Job()
    @DependsOn(Profit)
    class Report {
      run() {}
    }
    const problem = only([Report]);
    expect(problem).toMatchObject({ code: 'job-in-two-dags', path: 'Profit' });
    expect(problem.message).toContain('Costs and Sales');
  });

  it('have one DAG per job: a job that names another than its dependencies', () => {
    @Job({ dag: Costs })
    @DependsOn(Orders)
    class Convert {
      run() {}
    }
    expect(found([Convert, Bills])).toEqual(['job-in-two-dags at Convert']);
  });

  it('have one DAG per job: a root that two DAGs share', () => {
    @Job()
    class Extract {
      run() {}
    }
    @Job({ dag: Sales })
    @DependsOn(Extract)
    class One {
      run() {}
    }
    @Job({ dag: Costs })
    @DependsOn(Extract)
    class Two {
      run() {}
    }
    expect(found([One, Two])).toEqual(['job-in-two-dags at Extract']);
  });

  it('with several roots need a name', () => {
    @Job()
    class Left {
      run() {}
    }
    @Job()
    class Right {
      run() {}
    }
    @Job()
    @DependsOn(Left, Right)
    class Both {
      run() {}
    }
    const problem = only([Both]);
    expect(problem).toMatchObject({ code: 'dag-missing', path: 'Left' });
    expect(problem.message).toContain('Left, Right');
    expect(problem.hint).toContain('@Job({ dag: MyDag }) on Left');
  });

  it('join the DAG that one of their jobs names', () => {
    @Job()
    class Early {
      run() {}
    }
    @Job({ dag: Sales })
    @DependsOn(Early)
    class Later {
      run() {}
    }
    const { dags, problems } = compile([Later, Orders]);
    expect(problems).toEqual([]);
    expect(dags[0]?.definition.jobs.map(({ id }) => id)).toEqual(['early', 'orders', 'later']);
  });

  it('have at least one job', () => {
    @Dag()
    class Empty {}
    expect(found([Empty])).toEqual(['dag-empty at Empty']);
  });

  it('are joined by naming the @Dag class', () => {
    @Job({ dag: Orders as never })
    class Convert {
      run() {}
    }
    const problem = compile([Convert]).problems[0];
    expect(problem?.message).toContain('Orders, which is a @Job');
    expect(problem?.hint).toContain('@DependsOn(Orders)');
  });
});

describe('options of a graph', () => {
  it('stand once: not on the DAG and on a root', () => {
    @Dag({ schedule: { every: '1h' } })
    class Hourly {}
    @Job({ dag: Hourly, schedule: { every: '2h' }, overlap: 'skip' })
    class Root {
      run() {}
    }
    const problem = only([Root]);
    expect(problem).toMatchObject({
      code: 'graph-option-twice',
      path: 'Hourly > Root > schedule',
    });
    expect(problem.message).toMatch(/on Hourly \(.*problems-of-graphs\.test\.ts:\d+\) too/);
  });

  it('stand once: not on two roots', () => {
    @Dag()
    class Twice {}
    @Job({ dag: Twice, schedule: { cron: '0 6 * * *' } })
    class Six {
      run() {}
    }
    @Job({ dag: Twice, schedule: { cron: '0 18 * * *' } })
    class Eighteen {
      run() {}
    }
    expect(found([Six, Eighteen])).toEqual(['graph-option-twice at Twice > Eighteen > schedule']);
  });

  it('do not stand on a job that waits for another', () => {
    @Job()
    class Root {
      run() {}
    }
    @Job({ schedule: { every: '1h' } })
    @DependsOn(Root)
    class Leaf {
      run() {}
    }
    const problem = only([Leaf]);
    expect(problem).toMatchObject({
      code: 'graph-option-on-inner-job',
      path: 'Root > Leaf > schedule',
    });
    expect(problem.hint).toContain('move it to Root');
  });

  it('are taken from a root of a DAG that says nothing', () => {
    @Dag()
    class Quiet {}
    @Job({ dag: Quiet, schedule: { every: '1h' }, maxActiveRuns: 3 })
    class Root {
      run() {}
    }
    const { dags, problems } = compile([Root]);
    expect(problems).toEqual([]);
    expect(dags[0]?.definition).toMatchObject({
      schedule: { everyMs: 3_600_000 },
      maxActiveRuns: 3,
    });
  });
});

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
    const line = Number(/problems-of-graphs\.test\.ts:(\d+)/.exec(new Error().stack ?? '')?.[1]);
    @Job({ timeout: 'soon' })
    class Late {
      run() {}
    }
    const problem = only([Late]);
    expect(problem.file).toMatch(/^\/.*problems-of-graphs\.test\.ts$/);
    expect(problem.line).toBe(line + 1);
  });

  it('about dependencies name the line of @DependsOn', () => {
    const line = Number(/problems-of-graphs\.test\.ts:(\d+)/.exec(new Error().stack ?? '')?.[1]);
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
