import { OptionError } from '@flowline/core';
import { causes, runStates } from '@flowline/core/internal';
import type { Command } from '../command-line/command.js';
import { limitFlag } from '../command-line/values.js';
import { runJson } from '../output/run-json.js';
import { toJson } from '../output/shapes.js';
import { table } from '../output/table.js';
import { elapsed, instant, stateWord } from '../output/words.js';
import { requireBackfill, requireDag } from '../session/require.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { note, print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [{ name: 'dag', describe: 'only runs of this DAG', completes: 'dag' }],
  options: {
    state: { type: 'string', array: true, choices: runStates, describe: 'only runs in this state' },
    cause: { type: 'string', array: true, choices: causes, describe: 'only runs with this cause' },
    backfill: { type: 'string', describe: 'only runs of this backfill', requiresArg: true },
    limit: { type: 'number', describe: 'at most this many (default 20)', requiresArg: true },
    before: {
      type: 'string',
      describe: 'only runs older than this run, for paging',
      requiresArg: true,
    },
  },
  examples: [
    ['flow runs', 'the newest runs of all DAGs'],
    ['flow runs weather --state failed --limit 100', 'what went wrong'],
  ],
  async run(args, context) {
    const limit = limitFlag(args.limit);
    if (args.before !== undefined && !/^[0-9a-z]{26}$/.test(args.before))
      throw new OptionError('--before', 'the id of a run', args.before);
    return withSession(args, context, async (session) => {
      if (args.backfill !== undefined) await requireBackfill(session.store, args.backfill);
      if (args.dag !== undefined) await requireDag(session.store, args.dag);
      const runs = await session.store.listRuns({
        limit,
        ...(args.dag === undefined ? {} : { dagId: args.dag }),
        ...(args.state === undefined ? {} : { state: args.state }),
        ...(args.cause === undefined ? {} : { cause: args.cause }),
        ...(args.backfill === undefined ? {} : { backfillId: args.backfill }),
        ...(args.before === undefined ? {} : { before: args.before }),
      });
      if (args.json) {
        print(context.terminal, toJson(runs.map(runJson)));
        return exitCodes.done;
      }
      if (runs.length === 0) {
        note(context.terminal, 'no runs');
        return exitCodes.done;
      }
      print(
        context.terminal,
        table(
          context.terminal,
          ['RUN', 'DAG', 'STATE', 'CAUSE', 'LOGICAL DATE', 'STARTED', 'TIME'],
          runs.map((run) => [
            run.id,
            run.dagId,
            stateWord(context.terminal, run.state),
            run.cause,
            instant(run.logicalDate),
            instant(run.startedAt),
            elapsed(run.startedAt, run.endedAt),
          ]),
        ),
      );
      return exitCodes.done;
    });
  },
};
