import { describe, expect, it } from 'vitest';
import { DependsOn } from '../decorators/depends-on.js';
import { Job } from '../decorators/job.js';
import { CompileError } from '../errors.js';
import { compile } from './compile.js';
import { executableJobs } from './executable-jobs.js';

class Gone extends Error {}

@Job({ retry: { attempts: 3, retryOn: [TypeError], abortOn: [Gone, RangeError] } })
class Extract {
  count = 0;
  run() {
    this.count += 1;
    return this.count;
  }
}

@Job()
@DependsOn(Extract)
class Convert {
  run(_ctx: unknown, count: number) {
    return count * 2;
  }
}

describe('executableJobs', () => {
  it('has the serve keys of the compiled definition', () => {
    const keys = compile([Convert]).dags[0]?.definition.jobs.map(({ serveKey }) => serveKey);
    const jobs = executableJobs([Convert]);
    expect([...jobs.keys()].sort()).toEqual([...(keys ?? [])].sort());
    for (const [key, job] of jobs) {
      expect(job.serveKey).toBe(key);
      expect(key.startsWith(`${job.dagId}/${job.jobId}/`)).toBe(true);
    }
  });

  it('makes a fresh instance for each attempt', () => {
    const extract = [...executableJobs([Convert]).values()].find(
      ({ jobId }) => jobId === 'extract',
    )!;
    expect(extract.create().run({})).toBe(1);
    expect(extract.create().run({})).toBe(1);
    expect(extract.create()).toBeInstanceOf(Extract);
  });

  it('has the error classes, and the definition their names', () => {
    const jobs = [...executableJobs([Convert]).values()];
    const extract = jobs.find(({ jobId }) => jobId === 'extract');
    expect(extract?.retryOn).toEqual([TypeError]);
    expect(extract?.abortOn).toEqual([Gone, RangeError]);
    expect(jobs.find(({ jobId }) => jobId === 'convert')).toMatchObject({
      retryOn: [],
      abortOn: [],
    });
    expect(compile([Extract]).dags[0]?.definition.jobs[0]?.retry).toMatchObject({
      retryOn: ['TypeError'],
      abortOn: ['Gone', 'RangeError'],
    });
  });

  it('refuses classes with errors, not with warnings', () => {
    @Job({ timeout: 'soon' })
    class Late {
      run() {}
    }
    @Job({ misfire: 'skip' })
    class Doubtful {
      run() {}
    }
    expect(() => executableJobs([Late, Convert])).toThrow(CompileError);
    expect(executableJobs([Doubtful]).size).toBe(1);
  });
});
