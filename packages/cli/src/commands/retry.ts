import { UsageError } from '@flowline/core';
import type { Command } from '../command-line/command.js';
import { toJson } from '../output/shapes.js';
import { counted } from '../output/words.js';
import { feedNow } from '../session/feed-now.js';
import { watchRun } from '../session/watch-run.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { note, print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [{ name: 'run', describe: 'the id of the run', required: true, completes: 'run' }],
  options: {
    job: {
      type: 'string',
      array: true,
      describe: 'run the task of this job again (default: all that failed or could not run)',
      requiresArg: true,
    },
    downstream: {
      type: 'boolean',
      describe: 'also what succeeded downstream of them',
    },
    wait: { type: 'boolean', describe: 'watch it until it is over; the exit status is its own' },
  },
  examples: [
    ['flow retry 01k2x3...', 'what failed and what could not run because of it'],
    ['flow retry 01k2x3... --job convert --downstream', 'one job and everything after it'],
  ],
  notes:
    'The run is opened again: same id, same version, same params. What did not succeed downstream of a task runs again with it; everything else keeps its result. Attempts go on counting, failures begin again at none.',
  async run(args, context) {
    if (args.downstream && args.job === undefined) {
      throw new UsageError('--downstream needs --job: downstream of what?', {
        hint: 'Without --job all that failed runs again, with what could not run because of it.',
      });
    }
    return withSession(args, context, async ({ store }) => {
      const { dagId, backfillId, jobs } = await store.retryRun(args.run, {
        ...(args.job === undefined ? {} : { jobs: args.job }),
        downstream: args.downstream === true,
      });
      // The leader would do it at its next tick; a person should not have to wait for it.
      if (backfillId === null) await store.admitRuns(dagId);
      else await feedNow(store, backfillId, context.terminal);
      if (args.wait) {
        if (!args.json) note(context.terminal, `again: ${jobs.join(', ')}`);
        return watchRun(store, args.run, args.json === true, context);
      }
      const run = await store.getRun(args.run);
      if (args.json) {
        print(context.terminal, toJson({ id: args.run, state: run?.state, jobs }));
        return exitCodes.done;
      }
      print(
        context.terminal,
        `run ${args.run} is ${run?.state}: ${counted(jobs.length, 'task')} again (${jobs.join(', ')})`,
      );
      if (run?.state === 'queued') {
        const waits = backfillId === null ? 'for a place' : `for a place of backfill ${backfillId}`;
        note(context.terminal, `it waits ${waits}: flow show ${args.run}`);
      }
      return exitCodes.done;
    });
  },
};
