import { describe, expect, it, vi } from 'vitest';
import { isDecorated, readRecord } from '../definition/records.js';
import { listDecoratedClasses, takeDecoratedClasses } from '../definition/registry.js';
import { isFlowError } from '../errors.js';
import { Dag } from './dag.js';
import { DependsOn } from './depends-on.js';
import { Job } from './job.js';

/** What a call throws; fails when it throws nothing or something that is not of ours. */
function refused(call: () => unknown): { message: string; hint: string | undefined } {
  try {
    call();
  } catch (error) {
    if (isFlowError(error, 'decorator')) return { message: error.message, hint: error.hint };
    throw error;
  }
  throw new Error('expected a DecoratorError, found none');
}

// biome-ignore lint/suspicious/noExplicitAny: misuse is what these tests are about
type Loose = (...args: any[]) => any;
const decorators: [string, Loose][] = [
  ['Dag', Dag],
  ['Job', Job],
  ['DependsOn', DependsOn],
];

describe('the decorators', () => {
  it('record what is written, unread', () => {
    const options = { id: 7, nonsense: true } as never;
    @Job(options)
    @DependsOn(undefined as never)
    class Sync {
      run() {}
    }
    @Dag({ id: 'x' })
    class Graph {}
    expect(readRecord('Job', Sync)?.options).toBe(options);
    expect(readRecord('DependsOn', Sync)?.jobs).toEqual([undefined]);
    expect(readRecord('Dag', Graph)?.options).toEqual({ id: 'x' });
    expect(readRecord('Dag', Sync)).toBeUndefined();
  });

  it('record where they stand', () => {
    const line = Number(/decorators\.test\.ts:(\d+)/.exec(new Error().stack ?? '')?.[1]);
    @Job()
    @DependsOn()
    class Sync {
      run() {}
    }
    const file = expect.stringMatching(/^\/.*decorators\.test\.ts$/);
    expect(readRecord('Job', Sync)?.site).toEqual({ file, line: line + 1 });
    expect(readRecord('DependsOn', Sync)?.site).toEqual({ file, line: line + 2 });
  });

  it('do not reach subclasses', () => {
    @Job()
    class Base {
      run() {}
    }
    class Child extends Base {}
    expect(isDecorated(Base)).toBe(true);
    expect(isDecorated(Child)).toBe(false);
  });

  it('work with the arguments of the TC39 dialect', () => {
    class Sync {
      run() {}
    }
    const context = { kind: 'class', name: 'Sync', addInitializer() {}, metadata: {} };
    expect((Job() as Loose)(Sync, context)).toBeUndefined();
    expect(isDecorated(Sync)).toBe(true);
  });

  it.each(decorators)('@%s is refused on members, in both dialects', (name, decorator) => {
    class Sync {
      run() {}
    }
    const apply = (...args: unknown[]) => refused(() => decorator()(...args)).message;
    const expected = `@${name}: expected to stand on a class, found it on`;
    expect(apply(Sync.prototype, 'run', {})).toBe(`${expected} the member run of Sync`);
    expect(apply(Sync, 'make', {})).toBe(`${expected} the member make of Sync`);
    expect(apply(Sync, undefined, 0)).toBe(`${expected} a parameter of the constructor of Sync`);
    expect(apply(() => {}, { kind: 'method', name: 'run' })).toBe(`${expected} the method run`);
    expect(apply(undefined, { kind: 'field', name: 'url' })).toBe(`${expected} the field url`);
    expect(apply({})).toBe(`${expected} a value of type object`);
    expect(isDecorated(Sync)).toBe(false);
  });

  it.each(decorators)('@%s is refused twice, and both places are named', (name, decorator) => {
    class Sync {
      run() {}
    }
    decorator()(Sync);
    const { message, hint } = refused(() => decorator()(Sync));
    expect(message).toMatch(
      new RegExp(`@${name} stands twice on Sync: .*test\\.ts:\\d+ and .*test\\.ts:\\d+`),
    );
    expect(hint).toContain(`@${name}(`);
  });

  it('are refused without parentheses', () => {
    class Sync {
      run() {}
    }
    expect(refused(() => (Job as Loose)(Sync)).hint).toBe('Write @Job().');
    expect(refused(() => (Dag as Loose)(Sync, { kind: 'class' })).hint).toBe('Write @Dag().');
  });
});

describe('the list of decorated classes', () => {
  it('holds each class once, in order, until it is taken', () => {
    takeDecoratedClasses();
    @Dag()
    class Graph {}
    @Job({ dag: Graph })
    @DependsOn()
    class Sync {
      run() {}
    }
    expect(listDecoratedClasses()).toEqual([Graph, Sync]);
    expect(takeDecoratedClasses()).toEqual([Graph, Sync]);
    expect(takeDecoratedClasses()).toEqual([]);
    // Taken classes keep their records.
    expect(isDecorated(Sync)).toBe(true);
  });
});

describe('two copies of the package', () => {
  it('see each other', async () => {
    vi.resetModules();
    const other = await import('./job.js');
    const otherRecords = await import('../definition/records.js');
    const { compile } = await import('../compiler/compile.js');
    expect(other.Job).not.toBe(Job);
    takeDecoratedClasses();

    @other.Job()
    class Extract {
      run() {}
    }
    @Job()
    @DependsOn(Extract)
    class Convert {
      run() {}
    }
    expect(listDecoratedClasses()).toEqual([Extract, Convert]);
    expect(readRecord('Job', Extract)).toBeDefined();
    expect(otherRecords.readRecord('Job', Convert)).toBeDefined();
    expect(refused(() => (other.Job() as Loose)(Convert)).message).toContain('twice on Convert');
    const { dags, problems } = compile([Convert]);
    expect(problems).toEqual([]);
    expect(dags[0]?.definition.jobs.map(({ id }) => id)).toEqual(['extract', 'convert']);
  });
});
