import type { Command } from '../command-line/command.js';
import { controlWords } from '../output/backfill-text.js';
import { backfillJson, toJson } from '../output/shapes.js';
import { requireBackfill } from '../session/require.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [
    { name: 'backfill', describe: 'the id of the backfill', required: true, completes: 'backfill' },
  ],
  options: { running: { type: 'boolean', describe: 'cancel its open runs too' } },
  examples: [
    ['flow backfill cancel 01k2x3...', 'no further runs; those that run go on to their end'],
    ['flow backfill cancel 01k2x3... --running', 'its open runs are cancelled too'],
  ],
  async run(args, context) {
    return withSession(args, context, async ({ store }) => {
      const before = await requireBackfill(store, args.backfill);
      const backfill = await store.cancelBackfill(args.backfill, {
        running: args.running === true,
      });
      print(
        context.terminal,
        args.json
          ? toJson({ ...backfillJson(backfill), changed: before.state !== backfill.state })
          : controlWords(before, backfill),
      );
      return exitCodes.done;
    });
  },
};
