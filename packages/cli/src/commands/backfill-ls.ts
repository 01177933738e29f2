import { backfillStates } from '@flowline/core/internal';
import type { Command } from '../command-line/command.js';
import { limitFlag } from '../command-line/values.js';
import { backfillTable } from '../output/backfill-text.js';
import { backfillJson, toJson } from '../output/shapes.js';
import { estimateEnd } from '../session/estimate-end.js';
import { requireDag } from '../session/require.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { note, print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [{ name: 'dag', describe: 'only backfills of this DAG', completes: 'dag' }],
  options: {
    state: {
      type: 'string',
      array: true,
      choices: backfillStates,
      describe: 'only backfills in this state',
    },
    limit: { type: 'number', describe: 'at most this many (default 20)', requiresArg: true },
  },
  examples: [['flow backfill ls weather', 'newest first']],
  async run(args, context) {
    const limit = limitFlag(args.limit);
    return withSession(args, context, async ({ store }) => {
      if (args.dag !== undefined) await requireDag(store, args.dag);
      const backfills = await store.listBackfills({
        limit,
        ...(args.dag === undefined ? {} : { dagId: args.dag }),
        ...(args.state === undefined ? {} : { state: args.state }),
      });
      if (args.json)
        print(
          context.terminal,
          toJson(backfills.map((one) => backfillJson(one, estimateEnd(store, one)?.at))),
        );
      else if (backfills.length === 0) note(context.terminal, 'no backfills');
      else print(context.terminal, backfillTable(context.terminal, backfills));
      return exitCodes.done;
    });
  },
};
