import type { Command } from '../command-line/command.js';
import { toJson } from '../output/shapes.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [{ name: 'run', describe: 'the id of the run', required: true, completes: 'run' }],
  options: { reason: { type: 'string', describe: 'kept with the run', requiresArg: true } },
  examples: [
    [
      'flow cancel 01k2x3... --reason "wrong input"',
      'running tasks are told, waiting ones never start',
    ],
  ],
  async run(args, context) {
    return withSession(args, context, async (session) => {
      const { state, closed } = await session.store.cancelRun(args.run, args.reason);
      if (args.json) {
        print(context.terminal, toJson({ id: args.run, state, closed }));
      } else if (closed) {
        print(context.terminal, `run ${args.run} was over already: ${state}`);
      } else if (state === 'cancelled') {
        print(context.terminal, `run ${args.run} is cancelled`);
      } else {
        print(
          context.terminal,
          `run ${args.run}: cancellation requested; running tasks are being told`,
        );
      }
      return closed && state !== 'cancelled' ? exitCodes.failed : exitCodes.done;
    });
  },
};
