import {
  describe,
  OptionError,
  parseSchedule,
  type Schedule,
  UsageError,
  viewNextFires,
} from '@flowline/core/time';
import type { Command, CommandContext } from '../command-line/command.js';
import { localInstantFlag, wholeFlag } from '../command-line/values.js';
import { columns } from '../output/columns.js';
import { nextFireJson, toJson } from '../output/shapes.js';
import { instant } from '../output/words.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { note, print, type Terminal } from '../terminal/terminal.js';

const most = 10_000;

export const command: Command = {
  positionals: [
    { name: 'dag', describe: 'the id of a deployed DAG (or --cron)', completes: 'dag' },
  ],
  options: {
    cron: {
      type: 'string',
      describe: 'a cron expression instead of a DAG; needs no database',
      requiresArg: true,
    },
    tz: { type: 'string', describe: 'IANA time zone of --cron (default UTC)', requiresArg: true },
    from: {
      type: 'string',
      describe: 'fires after this instant, or date in the zone of the schedule (default: now)',
      requiresArg: true,
    },
    count: { type: 'number', describe: 'how many (default 5)', requiresArg: true },
  },
  examples: [
    ['flow next nightly-sales', 'the coming fires, local and UTC'],
    [
      "flow next --cron '30 2 * * *' --tz Europe/Paris --from 2026-03-27T00:00:00Z",
      'what a change of clocks does',
    ],
  ],
  async run(args, context) {
    const { terminal } = context;
    if ((args.dag === undefined) === (args.cron === undefined)) {
      throw new UsageError('flow next needs a DAG or --cron, and not both', {
        hint: 'See flow next --help.',
      });
    }
    if (args.tz !== undefined && args.cron === undefined) {
      throw new UsageError('--tz goes with --cron: a DAG has its own zone');
    }
    const count = wholeFlag('--count', args.count) ?? 5;
    if (count > most) throw new OptionError('--count', `at most ${most}`, count);
    const schedule =
      args.cron === undefined
        ? await scheduleOf(args.dag, args, context)
        : fromCron(args.cron, args.tz, terminal);
    const timeZone = 'timeZone' in schedule ? schedule.timeZone : 'UTC';
    const after =
      args.from === undefined ? new Date() : localInstantFlag('--from', args.from, timeZone);
    const fires = viewNextFires(schedule, { after, count });
    if (args.json) {
      print(terminal, toJson(fires.map(nextFireJson)));
      return exitCodes.done;
    }
    note(terminal, describe(schedule));
    if (fires.length === 0) note(terminal, 'no further fires: the schedule has ended');
    else {
      print(
        terminal,
        columns(
          ['LOGICAL DATE (UTC)', 'LOCAL', 'NOTE'],
          fires.map((fire) => [instant(fire.logicalDate), fire.local, fire.note ?? '']),
        ),
      );
    }
    return exitCodes.done;
  },
};

/** The schedule of --cron and --tz; what is legal but surprising is said on stderr. Throws UsageError. */
function fromCron(cron: string, timeZone: string | undefined, terminal: Terminal): Schedule {
  const { schedule, problems } = parseSchedule({
    cron,
    ...(timeZone === undefined ? {} : { timeZone }),
  });
  const error = problems.find(({ severity }) => severity === 'error');
  if (schedule !== undefined && error === undefined) {
    for (const { message } of problems)
      note(terminal, `${terminal.colors.yellow('warning')}: ${message}`);
    return schedule;
  }
  const flag = error?.path.endsWith('timeZone') ? '--tz' : '--cron';
  throw new UsageError(`${flag}: ${error?.message ?? 'cannot be read'}`, {
    hint: error?.hint ?? "For example: --cron '30 2 * * *' --tz Europe/Paris",
  });
}

async function scheduleOf(
  dagId: string,
  args: Parameters<Command['run']>[0],
  context: CommandContext,
): Promise<Schedule> {
  // The database is for deployed DAGs only: an expression must be answered without loading it.
  const [{ withSession }, { requireDag }] = await Promise.all([
    import('../session/with-session.js'),
    import('../session/require.js'),
  ]);
  return withSession(args, context, async ({ store }) => {
    const dag = await requireDag(store, dagId);
    const schedule = (await store.getVersion(dag.id, dag.version))?.schedule;
    if (schedule === undefined) throw new UsageError(`${dagId} has no schedule: it runs on demand`);
    return schedule;
  });
}
