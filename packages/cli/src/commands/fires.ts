import type { Command } from '../command-line/command.js';
import { limitFlag } from '../command-line/values.js';
import { fireJson, toJson } from '../output/shapes.js';
import { table } from '../output/table.js';
import { instant } from '../output/words.js';
import { requireDag } from '../session/require.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { note, print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [{ name: 'dag', describe: 'the id of the DAG', required: true, completes: 'dag' }],
  options: {
    limit: { type: 'number', describe: 'at most this many lines (default 20)', requiresArg: true },
  },
  examples: [
    [
      'flow fires nightly-sales',
      'every due fire that did not become a run of its own, newest first',
    ],
  ],
  async run(args, context) {
    const limit = limitFlag(args.limit);
    return withSession(args, context, async (session) => {
      await requireDag(session.store, args.dag);
      const fires = await session.store.listFires(args.dag, { limit });
      if (args.json) print(context.terminal, toJson(fires.map(fireJson)));
      else if (fires.length === 0)
        note(context.terminal, `every due fire of ${args.dag} became a run`);
      else {
        print(
          context.terminal,
          table(
            context.terminal,
            ['FROM', 'TO', 'FIRES', 'REASON', 'RUN'],
            fires.map((fire) => [
              instant(fire.from),
              instant(fire.to),
              String(fire.count),
              fire.reason,
              fire.runId ?? '-',
            ]),
          ),
        );
      }
      return exitCodes.done;
    });
  },
};
