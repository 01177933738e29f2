import {
  describe,
  type FireView,
  OptionError,
  parseSchedule,
  type Schedule,
  UsageError,
  viewClockChanges,
  viewNextFires,
} from '@flowline/core/time';
import type { Command, CommandContext } from '../command-line/command.js';
import { localInstantFlag, wholeFlag } from '../command-line/values.js';
import { columns } from '../output/columns.js';
import { clockChangeJson, nextFireJson, toJson } from '../output/shapes.js';
import { instant } from '../output/words.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { note, print, type Terminal } from '../terminal/terminal.js';

const most = 10_000;

/** A schedule, what time it is there, and what is known of its dates beside the calendar. */
interface Asked {
  readonly schedule: Schedule;
  readonly now: Date;
  readonly marked: (fires: readonly FireView[]) => Promise<readonly FireView[]>;
}

interface Question {
  readonly from: string | undefined;
  readonly count: number;
  readonly acrossDst: boolean;
  readonly json: boolean;
}

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
    'across-dst': {
      type: 'boolean',
      describe: 'the next two changes of clocks, what the schedule does then, and the fires around',
    },
  },
  examples: [
    ['flow next nightly-sales', 'the coming fires, local and UTC'],
    [
      "flow next --cron '30 2 * * *' --tz Europe/Paris --from 2026-03-27T00:00:00Z",
      'what a change of clocks does',
    ],
    ["flow next --cron '30 2 * * *' --tz Europe/Paris --across-dst", 'the same, without a date'],
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
    const question: Question = {
      from: args.from,
      count,
      acrossDst: args.acrossDst === true,
      json: args.json === true,
    };
    if (args.cron !== undefined) {
      const schedule = fromCron(args.cron, args.tz, terminal);
      await answer(
        { schedule, now: new Date(), marked: async (fires) => fires },
        question,
        terminal,
      );
    } else {
      await withDeployed(args.dag, args, context, (asked) => answer(asked, question, terminal));
    }
    return exitCodes.done;
  },
};

async function answer(asked: Asked, question: Question, terminal: Terminal): Promise<void> {
  const { schedule } = asked;
  const { from, count, json } = question;
  const after =
    from === undefined ? asked.now : localInstantFlag('--from', from, schedule.timeZone);
  if (!json) note(terminal, describe(schedule));
  if (question.acrossDst) {
    const changes = await Promise.all(
      viewClockChanges(schedule, { after, fires: count }).map(async (change) => ({
        ...change,
        fires: await asked.marked(change.fires),
      })),
    );
    if (json) print(terminal, toJson(changes.map(clockChangeJson)));
    else if (changes.length === 0) note(terminal, `clocks do not change in ${schedule.timeZone}`);
    for (const change of json ? [] : changes) {
      const { kind, localFrom, localTo, offsetBefore, offsetAfter } = change;
      const words = kind === 'gap' ? 'does not exist' : 'comes twice';
      print(
        terminal,
        `${instant(change.at)}  ${kind}: ${localFrom} to ${localTo} ${words} (${offsetBefore} -> ${offsetAfter})`,
      );
      print(terminal, `  ${change.effect}`);
      print(terminal, fireTable(change.fires).replace(/^/gm, '  '));
    }
    return;
  }
  const fires = await asked.marked(viewNextFires(schedule, { after, count }));
  if (json) print(terminal, toJson(fires.map(nextFireJson)));
  else if (fires.length === 0) note(terminal, 'no further fires: the schedule has ended');
  else print(terminal, fireTable(fires));
}

function fireTable(fires: readonly FireView[]): string {
  return columns(
    ['LOGICAL DATE (UTC)', 'LOCAL', 'NOTE'],
    fires.map((fire) => [instant(fire.logicalDate), fire.local, fire.note ?? '']),
  );
}

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

/** The schedule of a deployed DAG; its pauses and what was written down of its dates are marked. */
async function withDeployed(
  dagId: string,
  args: Parameters<Command['run']>[0],
  context: CommandContext,
  use: (asked: Asked) => Promise<void>,
): Promise<void> {
  // The database is for deployed DAGs only: an expression must be answered without loading it.
  const [{ withSession }, { requireDag }, { markPaused, markRecorded }] = await Promise.all([
    import('../session/with-session.js'),
    import('../session/require.js'),
    import('../output/fire-notes.js'),
  ]);
  await withSession(args, context, async ({ store }) => {
    const dag = await requireDag(store, dagId);
    const schedule = (await store.getVersion(dag.id, dag.version))?.schedule;
    if (schedule === undefined) throw new UsageError(`${dagId} has no schedule: it runs on demand`);
    if (dag.state === 'retired') {
      throw new UsageError(`${dagId} is retired: it does not fire any more`, {
        hint: 'Deploy it again, or ask for its expression with --cron.',
      });
    }
    if (dag.broken !== null) {
      throw new UsageError(`the schedule of ${dagId} cannot be evaluated: ${dag.broken}`, {
        hint: 'Mend it and deploy again.',
      });
    }
    const marked = async (fires: readonly FireView[]) => {
      const [first, last] = [fires[0], fires.at(-1)];
      if (first === undefined || last === undefined) return fires;
      const records = await store.listFires(dagId, {
        from: first.logicalDate,
        to: new Date(last.logicalDate.getTime() + 1),
        limit: most,
      });
      return markPaused(markRecorded(fires, records), dag.pausedAt);
    };
    await use({ schedule, now: await store.readServerTime(), marked });
  });
}
