import type { Command } from '../command-line/command.js';
import { controlWords } from '../output/backfill-text.js';
import { backfillJson, toJson } from '../output/shapes.js';
import { feedNow } from '../session/feed-now.js';
import { requireBackfill } from '../session/require.js';
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
      const before = await requireBackfill(store, args.backfill);
      const backfill = await store.resumeBackfill(args.backfill);
      // The leader would do it at its next tick; the first runs need not wait for it.
      await feedNow(store, backfill.id, context.terminal);
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
