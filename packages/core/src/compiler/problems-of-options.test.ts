import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Dag } from '../decorators/dag.js';
import { DependsOn } from '../decorators/depends-on.js';
import { Job } from '../decorators/job.js';
import type { DagOptions, JobOptions } from '../definition/options.js';
import type { Problem } from '../errors.js';
import { compile } from './compile.js';

function problemsOfJob(options: unknown): readonly Problem[] {
  @Job(options as JobOptions)
  class Sync {
    run() {}
  }
  return compile([Sync]).problems;
}

function problemsOfDag(options: unknown): readonly Problem[] {
  @Dag(options as DagOptions)
  class Nightly {}

  @Job({ dag: Nightly })
  class Sync {
    run() {}
  }
  return compile([Sync]).problems;
}

const sound = { schedule: { every: '1h' } };
const backoff = (value: unknown) => ({ retry: { attempts: 2, backoff: value } });

/** options, code, path below the class, what the message must say, what the hint must say */
type Case = readonly [
  options: unknown,
  code: string,
  field: string,
  message: RegExp,
  hint?: RegExp,
];

const jobCases: readonly Case[] = [
  [7, 'options-not-an-object', '', /an object with 'id'.*found 7/],
  [{ retires: {} }, 'unknown-option', 'retires', /found 'retires'/, /retry: \{ attempts/],
  [{ timeOut: '5m' }, 'unknown-option', 'timeOut', /found 'timeOut'/, /Did you mean 'timeout'/],
  [{ retries: 3 }, 'unknown-option', 'retries', /found 'retries'/, /counts the first try/],
  [{ cron: '0 2 * * *' }, 'unknown-option', 'cron', /found 'cron'/, /schedule: \{ cron/],
  [{ retry: 3 }, 'option-type', 'retry', /an object with 'attempts'.*found 3/],
  [{ retry: { attempts: '3' } }, 'option-type', 'retry.attempts', /found "3"/, /without quotes/],
  [{ retry: { attempts: Number.NaN } }, 'option-type', 'retry.attempts', /found NaN/],
  [{ retry: { attempts: 1.5 } }, 'option-type', 'retry.attempts', /whole number.*found 1\.5/],
  [{ retry: { attempts: 0 } }, 'option-range', 'retry.attempts', /from 1 to 1000, found 0/],
  [{ retry: { attempts: -1 } }, 'option-range', 'retry.attempts', /found -1/],
  [{ retry: { attempts: null } }, 'option-type', 'retry.attempts', /found null/],
  [
    { retry: { backoff: { delay: '2s' } } },
    'backoff-without-retries',
    'retry.backoff',
    /at least 2.*no retry\.attempts/,
    /attempts: 3/,
  ],
  [
    { retry: { attempts: 1, backoff: {} } },
    'backoff-without-retries',
    'retry.backoff',
    /found retry\.attempts: 1/,
  ],
  [{ retry: { retryOn: [TypeError] } }, 'errors-without-retries', 'retry.retryOn', /at least 2/],
  [
    { retry: { attempts: 2, abortOn: TypeError } },
    'option-type',
    'retry.abortOn',
    /a list of error classes, found the function TypeError/,
  ],
  [
    { retry: { attempts: 2, retryOn: ['TypeError'] } },
    'option-type',
    'retry.retryOn[0]',
    /found "TypeError"/,
    /without quotes/,
  ],
  [
    { retry: { attempts: 2, retryOn: [TypeError], abortOn: [TypeError] } },
    'option-clash',
    'retry.abortOn',
    /found TypeError in retryOn too/,
  ],
  [
    backoff({ type: 'exponental' }),
    'option-value',
    'retry.backoff.type',
    /found "exponental"/,
    /'exponential'/,
  ],
  [backoff({ delay: 2 }), 'duration', 'retry.backoff.delay', /a duration.*found 2/, /2s/],
  [backoff({ delay: '10m', max: '5m' }), 'option-range', 'retry.backoff.max', /10m, found "5m"/],
  [backoff({ max: '10ms' }), 'option-range', 'retry.backoff.max', /1s \(the default\)/],
  [backoff({ max: '31d' }), 'duration', 'retry.backoff.max', /at most 30d/],
  [backoff({ type: 'fixed', factor: 2 }), 'option-clash', 'retry.backoff.factor', /'fixed'/],
  [backoff({ factor: 0.5 }), 'option-range', 'retry.backoff.factor', /from 1 to 100/],
  [backoff({ jitter: true }), 'option-value', 'retry.backoff.jitter', /'none', 'full' and 'equal'/],
  [{ timeout: '5 minutes' }, 'duration', 'timeout', /a duration.*found "5 minutes"/],
  [{ timeout: '0s' }, 'duration', 'timeout', /at least 1ms/],
  [{ queue: 'Big Ones' }, 'option-value', 'queue', /lower-case.*"Big Ones"/],
  [{ queue: '' }, 'option-type', 'queue', /not blank/],
  [{ priority: 101 }, 'option-range', 'priority', /from -100 to 100/],
  [{ onLost: 'ignore' }, 'option-value', 'onLost', /'retry' and 'fail'/],
  [{ onLost: 'fail', maxLost: 2 }, 'option-clash', 'maxLost', /onLost: 'fail'/],
  [{ maxLost: 0 }, 'option-range', 'maxLost', /found 0/],
  [{ allowFailure: 'yes' }, 'option-type', 'allowFailure', /true or false/],
  [{ description: 4 }, 'option-type', 'description', /text/],
  [{ id: 'Sync_Orders' }, 'id-invalid', 'id', /lower-case letters.*"Sync_Orders"/],
  [{ id: 4 }, 'id-invalid', 'id', /found 4/],
  [{ dag: 'nightly' }, 'dag-unknown', 'dag', /a class with @Dag, found "nightly"/, /quotes/],
  [{ dag: undefined }, 'dag-unknown', 'dag', /found undefined.*import each other/],
];

const dagCases: readonly Case[] = [
  [{ timeout: '5m' }, 'unknown-option', 'timeout', /found 'timeout'/, /each job/],
  [{ overlaps: 'skip' }, 'unknown-option', 'overlaps', /found 'overlaps'/, /'overlap'/],
  [{ overlap: 'cancel' }, 'option-value', 'overlap', /'cancel-previous' and 'allow'/],
  [{ overlap: 'allow', maxActiveRuns: 2 }, 'option-clash', 'maxActiveRuns', /'allow', found 2/],
  [{ ...sound, overlap: 'skip', maxQueuedRuns: 2 }, 'option-clash', 'maxQueuedRuns', /'skip'/],
  [{ maxActiveRuns: 0 }, 'option-range', 'maxActiveRuns', /found 0/],
  [{ ...sound, onResume: 'none' }, 'option-value', 'onResume', /'skip', 'latest' and 'all'/],
  [{ retention: { runs: '0s' } }, 'duration', 'retention.runs', /at least 1s/],
  [{ retention: '30d' }, 'option-type', 'retention', /'runs' and 'logs'/],
  [{ schedule: '0 2 * * *' }, 'schedule-shape', 'schedule', /found/, /cron: '0 2 \* \* \*'/],
  [{ schedule: { cron: '0 0 30 2 *' } }, 'cron-impossible', 'schedule.cron', /'0 0 30 2 \*'/],
  [{ schedule: { cron: '0 0 31 4,6 *' } }, 'cron-impossible', 'schedule.cron', /never fires/],
  [{ schedule: { cron: '* * * *' } }, 'cron-field-count', 'schedule.cron', /found 4/],
  [{ schedule: { cron: '' } }, 'cron-empty', 'schedule.cron', /found nothing/],
  [
    { schedule: { cron: '0 2 * * *', timeZone: 'Europe/Pariss' } },
    'time-zone',
    'schedule.timeZone',
    /Europe\/Pariss/,
    /Europe\/Paris/,
  ],
  [{ schedule: { every: 5 } }, 'duration', 'schedule.every', /found 5/],
];

const misfireCases: readonly Case[] = [
  [{ ...sound, misfire: 'catchup' }, 'option-value', 'misfire', /"catchup"/, /'catch-up'/],
  [{ ...sound, misfire: { policy: 'skipp' } }, 'option-value', 'misfire.policy', /"skipp"/, /skip/],
  [{ ...sound, misfire: 5 }, 'option-type', 'misfire', /object with policy, found 5/],
  [{ ...sound, misfire: { grace: 60 } }, 'duration', 'misfire.grace', /found 60/],
  [{ ...sound, misfire: { maxCatchUp: 5 } }, 'option-clash', 'misfire.maxCatchUp', /'coalesce'/],
  [
    { ...sound, misfire: { policy: 'skip', window: '1d' } },
    'option-clash',
    'misfire.window',
    /'skip'/,
  ],
];

function check(problems: readonly Problem[], owner: string, expected: Case) {
  const [, code, field, message, hint] = expected;
  expect(problems.map((problem) => problem.code)).toEqual([code]);
  const [problem] = problems;
  expect(problem?.path).toBe([owner, field].filter((part) => part !== '').join(' > '));
  expect(problem?.message).toMatch(message);
  if (hint !== undefined) expect(problem?.hint).toMatch(hint);
  expect(problem?.file).toMatch(/problems-of-options\.test\.ts$/);
}

describe('problems of options', () => {
  for (const expected of jobCases) {
    it(`refuses ${inspect(expected[0])} on a job: ${expected[1]}`, () => {
      check(problemsOfJob(expected[0]), 'Sync', expected);
    });
  }

  for (const expected of [...dagCases, ...misfireCases]) {
    it(`refuses ${inspect(expected[0])} on a DAG: ${expected[1]}`, () => {
      check(problemsOfDag(expected[0]), 'Nightly', expected);
    });
  }

  it('finds everything that is wrong in one class at once', () => {
    const codes = problemsOfJob({
      retry: { attempts: 0, backoff: { delay: 'soon', jitter: 'some' } },
      timeout: 'long',
      schedule: { cron: '61 * * * *', timeZone: 'Mars/Olympus' },
      nope: 1,
    }).map(({ code }) => code);
    expect(codes.sort()).toEqual(
      [
        'cron-field',
        'duration',
        'duration',
        'option-range',
        'option-value',
        'time-zone',
        'unknown-option',
      ].sort(),
    );
  });

  it('warns about policies for fires where nothing fires', () => {
    const options = { misfire: 'skip', onResume: 'all', overlap: 'skip' };
    const warnings = problemsOfJob(options).map(({ code, severity, path }) => [
      code,
      severity,
      path,
    ]);
    expect(warnings).toEqual(
      ['misfire', 'onResume', 'overlap'].map((name) => [
        'option-without-effect',
        'warning',
        `Sync > ${name}`,
      ]),
    );
    expect(problemsOfJob({ ...options, ...sound })).toEqual([]);
    expect(problemsOfJob({ overlap: 'queue', maxActiveRuns: 2 })).toEqual([]);
  });

  it.each([
    ['0 0 13 * 5', 'cron-day-or'],
    ['* 0 0 * * *', 'cron-every-second'],
  ])('warns about the cron expression %s: %s', (cron, code) => {
    @Job({ schedule: { cron } })
    class Sync {
      run() {}
    }
    const { dags, problems } = compile([Sync]);
    expect(problems.map((problem) => [problem.code, problem.severity])).toEqual([
      [code, 'warning'],
    ]);
    expect(dags).toHaveLength(1);
  });

  it('writes the path through the DAG', () => {
    @Dag()
    class NightlySales {}
    @Job({ dag: NightlySales })
    class Extract {
      run() {}
    }
    @Job({ retry: { attempts: 3, backoff: { delay: '5m', max: '1s' } } })
    @DependsOn(Extract)
    class Convert {
      run() {}
    }
    const { dags, problems } = compile([Convert]);
    expect(problems.map(({ path }) => path)).toEqual([
      'NightlySales > Convert > retry.backoff.max',
    ]);
    expect(dags).toEqual([]);
  });

  it('takes absent and undefined options alike', () => {
    expect(problemsOfJob({ retry: undefined, timeout: undefined, schedule: undefined })).toEqual(
      [],
    );
    expect(problemsOfDag({ misfire: undefined, id: undefined })).toEqual([]);
  });
});
