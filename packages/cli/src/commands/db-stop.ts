import { stopEmbedded } from '@flowline/devdb';
import type { Command } from '../command-line/command.js';
import { toJson } from '../output/shapes.js';
import { dataDirOf } from '../session/embedded-only.js';
import { settingsOf } from '../session/settings-of.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

export const command: Command = {
  examples: [
    ['flow db stop', 'nothing that was acknowledged is lost; connected runners start it again'],
  ],
  async run(args, context) {
    const dataDir = dataDirOf(await settingsOf(args, context));
    const stopped = await stopEmbedded(dataDir);
    if (args.json) print(context.terminal, toJson({ stopped, dataDir }));
    else
      print(
        context.terminal,
        stopped ? 'the development database is stopped' : 'the development database did not run',
      );
    return exitCodes.done;
  },
};
