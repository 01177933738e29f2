import type { Command } from '../command-line/command.js';
import { toJson } from '../output/shapes.js';
import { requireDag } from '../session/require.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [{ name: 'dag', describe: 'the id of the DAG', required: true, completes: 'dag' }],
  options: {
    'on-resume': {
      type: 'string',
      choices: ['skip', 'latest', 'all'],
      describe: "what to do with the fires of the pause, instead of the DAG's own policy",
    },
  },
  examples: [
    ['flow resume nightly-sales', 'what the pause owes is the policy of the DAG'],
    ['flow resume nightly-sales --on-resume all', 'every fire of the pause becomes a run'],
  ],
  async run(args, context) {
    return withSession(args, context, async (session) => {
      await requireDag(session.store, args.dag);
      const resumed = await session.store.resumeDag(args.dag, args.onResume);
      if (args.json)
        print(context.terminal, toJson({ dag: args.dag, paused: false, changed: resumed }));
      else
        print(context.terminal, resumed ? `${args.dag} is resumed` : `${args.dag} was not paused`);
      return exitCodes.done;
    });
  },
};
