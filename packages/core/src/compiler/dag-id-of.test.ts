import { describe, expect, it } from 'vitest';
import { Dag } from '../decorators/dag.js';
import { DependsOn } from '../decorators/depends-on.js';
import { Job } from '../decorators/job.js';
import { dagIdOf } from './dag-id-of.js';

@Dag({ id: 'sales-2' })
class Sales {}
@Job()
class Extract {
  run() {}
}
@Job({ dag: Sales })
@DependsOn(Extract)
class Convert {
  run() {}
}
@Job()
class Alone {
  run() {}
}

describe('dagIdOf', () => {
  it('is the id of a @Dag class, and of the graph of a job', () => {
    expect(dagIdOf(Sales)).toBe('sales-2');
    expect(dagIdOf(Convert)).toBe('sales-2');
    // Its graph is named by a class that depends on it.
    expect(dagIdOf(Extract)).toBe('sales-2');
    expect(dagIdOf(Alone)).toBe('alone');
    expect(dagIdOf(Alone)).toBe('alone');
  });

  it('is refused for what is neither', () => {
    class Plain {}
    for (const value of [Plain, undefined, null, 7, {}]) {
      expect(() => dagIdOf(value)).toThrow(/dag: expected the id of a DAG, or a class with @Dag/);
    }
  });
});
