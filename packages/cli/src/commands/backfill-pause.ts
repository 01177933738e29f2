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
  examples: [['flow backfill pause 01k2x3...', 'it creates no further runs until it is resumed']],
  async run(args, context) {
    return withSession(args, context, async ({ store }) => {
      const before = await requireBackfill(store, args.backfill);
      const backfill = await store.pauseBackfill(args.backfill);
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
