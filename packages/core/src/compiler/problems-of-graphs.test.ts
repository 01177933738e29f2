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
