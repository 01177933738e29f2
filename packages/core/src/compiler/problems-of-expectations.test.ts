import { describe, expect, it } from 'vitest';
import { Job } from '../decorators/job.js';
import type { JobOptions } from '../definition/options.js';
import { compile } from './compile.js';

function compiled(options: unknown) {
  @Job(options as JobOptions)
  class Report {
    run() {}
  }
  const { dags, problems } = compile([Report]);
  return {
    definition: dags[0]?.definition,
    problems: problems.map(({ code, path }) => `${code} at ${path}`),
    messages: problems.map(({ message, hint }) => `${message}; ${hint}`),
  };
}

describe('expectWithin', () => {
  it('becomes milliseconds, and nothing where nothing is expected', () => {
    const { definition, problems } = compiled({
      expectWithin: { start: '10m', finish: '2h', duration: 'PT1H' },
    });
    expect(problems).toEqual([]);
    expect(definition?.expectWithin).toEqual({
      startMs: 600_000,
      finishMs: 7_200_000,
      durationMs: 3_600_000,
    });
    expect(compiled({}).definition).not.toHaveProperty('expectWithin');
    expect(compiled({ expectWithin: { finish: '2h' } }).definition?.expectWithin).toEqual({
      finishMs: 7_200_000,
    });
  });

  it.each([
    [{ expectWithin: '2h' }, 'option-type at Report > expectWithin'],
    [{ expectWithin: {} }, 'option-value at Report > expectWithin'],
    [{ expectWithin: { start: 600 } }, 'duration at Report > expectWithin.start'],
    [{ expectWithin: { start: '10ms' } }, 'duration at Report > expectWithin.start'],
    [{ expectWithin: { duration: '400d' } }, 'duration at Report > expectWithin.duration'],
    [
      { expectWithin: { start: '2h', finish: '1h' } },
      'option-range at Report > expectWithin.finish',
    ],
    [{ expectWithin: { finnish: '1h' } }, 'unknown-option at Report > expectWithin.finnish'],
  ])('%j is a problem', (options, problem) => {
    expect(compiled(options).problems).toContain(problem);
  });

  it('says what other words for it are called here', () => {
    expect(compiled({ expectWithin: { lateness: '5m' } }).messages[0]).toMatch(/Write start/);
    expect(compiled({ sla: '2h' }).messages[0]).toMatch(/Write expectWithin/);
  });
});

describe('misfire.spacing', () => {
  const schedule = { every: '1h' };

  it('becomes milliseconds beside catch-up, and beside a resume that makes up for all', () => {
    const catchUp = compiled({ schedule, misfire: { policy: 'catch-up', spacing: '5m' } });
    expect(catchUp.problems).toEqual([]);
    expect(catchUp.definition?.misfire).toEqual({
      policy: 'catch-up',
      maxCatchUp: 100,
      spacingMs: 300_000,
    });
    const resume = { schedule, onResume: 'all', misfire: { policy: 'skip', spacing: '5m' } };
    expect(compiled(resume).problems).toEqual([]);
  });

  it('is a problem where nothing is caught up, or when it is no duration', () => {
    for (const policy of ['coalesce', 'skip']) {
      expect(compiled({ schedule, misfire: { policy, spacing: '5m' } }).problems).toEqual([
        'option-clash at Report > misfire.spacing',
      ]);
    }
    expect(compiled({ schedule, misfire: { policy: 'catch-up', spacing: 5 } }).problems).toContain(
      'duration at Report > misfire.spacing',
    );
  });
});
