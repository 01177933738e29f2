import { OptionError, UsageError } from '@flowline/core';
import type { Command } from '../command-line/command.js';
import { parseParams } from '../command-line/params.js';
import { type StartBackfillFlags, startBackfill } from '../session/start-backfill.js';
import { type StartRunFlags, startRun } from '../session/start-run.js';
import { withSession } from '../session/with-session.js';

const backfillOnly = [
  'from',
  'to',
  'max-active',
  'order',
  'reprocess',
  'job',
  'downstream',
  'dry-run',
  'yes',
  'max',
] as const;
const runOnly = ['at', 'delay', 'key'] as const;

export const command: Command = {
  positionals: [{ name: 'dag', describe: 'the id of the DAG', required: true, completes: 'dag' }],
  options: {
    params: { type: 'string', describe: 'params of the run, as JSON', requiresArg: true },
    param: {
      type: 'string',
      array: true,
      describe: 'one param: name=value; the value is JSON where it can be read as such',
      requiresArg: true,
    },
    wait: { type: 'boolean', describe: 'watch it until it is over; the exit status is its own' },
    reason: { type: 'string', describe: 'kept with the run or the backfill', requiresArg: true },
    at: {
      type: 'string',
      describe: 'start no earlier than this instant: 2026-03-08T07:30:00Z',
      requiresArg: true,
    },
    delay: {
      type: 'string',
      describe: 'start no earlier than this long from now: 90s, 1h30m',
      requiresArg: true,
    },
    key: { type: 'string', describe: 'the same key again gives the same run', requiresArg: true },
    backfill: { type: 'boolean', describe: 'runs for the logical dates from --from to --to' },
    from: {
      type: 'string',
      describe: 'first logical date, included; without a time: midnight in the zone of the DAG',
      requiresArg: true,
    },
    to: {
      type: 'string',
      describe: 'end of the logical dates, excluded (default: where the scheduler takes over)',
      requiresArg: true,
    },
    'max-active': {
      type: 'number',
      describe: 'how many runs of the backfill at once (default 1)',
      requiresArg: true,
    },
    order: {
      type: 'string',
      choices: ['oldest', 'newest'],
      describe: 'which dates first (default oldest)',
    },
    reprocess: {
      type: 'string',
      choices: ['none', 'failed', 'all'],
      describe: 'dates that have a run already (default none: they are left alone)',
    },
    job: {
      type: 'string',
      array: true,
      describe: 'run only this job; what it needs of others comes from the newest run of the date',
      requiresArg: true,
    },
    downstream: { type: 'boolean', describe: 'with --job: also everything downstream of it' },
    'dry-run': { type: 'boolean', describe: 'print the plan of the backfill and store nothing' },
    yes: { type: 'boolean', describe: 'also for more than 1,000 dates' },
    max: {
      type: 'number',
      describe: 'refuse more dates than this instead of 1,000',
      requiresArg: true,
    },
  },
  examples: [
    ['flow run nightly-sales --wait', 'one run now, watched to its end'],
    ['flow run weather --param day=2012-07-04', 'with a param'],
    [
      'flow run weather --backfill --from 2012-01-01 --to 2012-02-01 --max-active 4',
      '31 logical dates, 4 at a time',
    ],
    [
      'flow run weather --backfill --from 2012-01-01 --to 2012-02-01 --job report --reprocess all',
      'one job again, on the results that are there',
    ],
  ],
  notes:
    'A backfill takes logical dates from --from (included) to --to (excluded). Running the same backfill again makes no run for dates that have one. With --job, --reprocess asks about that job: none leaves dates alone on which it ran.',
  async run(args, context) {
    refuseMixed(args);
    const params = parseParams(args.params, args.param ?? []);
    return withSession(args, context, (session) =>
      args.backfill
        ? startBackfill(session, { ...args, params } as StartBackfillFlags, context)
        : startRun(session, { ...args, params } as StartRunFlags, context),
    );
  },
};

function refuseMixed(args: Record<string, unknown>): void {
  const given = (names: readonly string[]) => names.filter((name) => args[name] !== undefined);
  if (args.backfill) {
    const [wrong] = given(runOnly);
    if (wrong !== undefined)
      throw new UsageError(`--${wrong} is for a single run, not for a backfill`);
    if (args.downstream && args.job === undefined) {
      throw new UsageError('--downstream needs --job: downstream of what?');
    }
    if (args.from === undefined) {
      throw new UsageError('a backfill needs --from, the first logical date', {
        hint: 'For example: --from 2026-01-01 --to 2026-02-01.',
      });
    }
    return;
  }
  const [wrong] = given(backfillOnly);
  if (wrong !== undefined) {
    throw new UsageError(`--${wrong} belongs to a backfill`, { hint: 'Add --backfill.' });
  }
  if (args.at !== undefined && args.delay !== undefined) {
    throw new OptionError('--delay', 'nothing beside --at', args.delay as string);
  }
}
