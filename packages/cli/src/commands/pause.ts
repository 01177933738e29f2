import type { Command } from '../command-line/command.js';
import { toJson } from '../output/shapes.js';
import { requireDag } from '../session/require.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [{ name: 'dag', describe: 'the id of the DAG', required: true, completes: 'dag' }],
  examples: [
    ['flow pause nightly-sales', 'no scheduled run starts until "flow resume nightly-sales"'],
  ],
  notes:
    'Once it has answered, no scheduled or catch-up run starts, queued ones included. Running, manual and backfill runs go on. What the pause owes on resume is the policy onResume of the DAG.',
  async run(args, context) {
    return withSession(args, context, async (session) => {
      await requireDag(session.store, args.dag);
      const paused = await session.store.pauseDag(args.dag);
      if (args.json)
        print(context.terminal, toJson({ dag: args.dag, paused: true, changed: paused }));
      else
        print(
          context.terminal,
          paused ? `${args.dag} is paused` : `${args.dag} was paused already`,
        );
      return exitCodes.done;
    });
  },
};
