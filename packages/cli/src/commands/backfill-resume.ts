import type { Command } from '../command-line/command.js';
import { backfillLine } from '../output/backfill-text.js';
import { backfillJson, toJson } from '../output/shapes.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [
    { name: 'backfill', describe: 'the id of the backfill', required: true, completes: 'backfill' },
  ],
  examples: [['flow backfill resume 01k2x3...', 'it goes on']],
  async run(args, context) {
    return withSession(args, context, async ({ store }) => {
      const backfill = await store.resumeBackfill(args.backfill);
      print(
        context.terminal,
        args.json ? toJson(backfillJson(backfill)) : backfillLine(context.terminal, backfill),
      );
      return exitCodes.done;
    });
  },
};
