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
@Job({ dag: Sales })
class Orders {
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
