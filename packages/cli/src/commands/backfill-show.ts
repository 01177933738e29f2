import type { Command } from '../command-line/command.js';
import { backfillText } from '../output/backfill-text.js';
import { backfillJson, toJson } from '../output/shapes.js';
import { estimateEnd, pastDurations } from '../session/estimate-end.js';
import { requireBackfill } from '../session/require.js';
import { watchBackfill } from '../session/watch-backfill.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [
    { name: 'backfill', describe: 'the id of the backfill', required: true, completes: 'backfill' },
  ],
  options: {
    wait: { type: 'boolean', describe: 'watch it until it is over; the exit status is its own' },
  },
  examples: [
    ['flow backfill show 01k2x3...', 'how far it is'],
    ['flow backfill show 01k2x3... --wait', 'with a progress bar, until it is over'],
  ],
  async run(args, context) {
    return withSession(args, context, async ({ store }) => {
      if (args.wait) return watchBackfill(store, args.backfill, args.json === true, context);
      const backfill = await requireBackfill(store, args.backfill);
      const end = estimateEnd(store, backfill, await pastDurations(store, backfill));
      print(
        context.terminal,
        args.json
          ? toJson(backfillJson(backfill, end?.at))
          : backfillText(context.terminal, backfill, end?.leftMs),
      );
      return exitCodes.done;
    });
  },
};
