import type { Command } from '../command-line/command.js';
import { toJson } from '../output/shapes.js';
import { dataDirOf } from '../session/embedded-only.js';
import { connectTo } from '../session/open-database.js';
import { settingsOf } from '../session/settings-of.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

export const command: Command = {
  examples: [['flow db start', 'prints the URI for mongosh and Compass']],
  notes:
    'A development server: it ends by itself when nobody has been connected for 30 s. Production is MongoDB.',
  async run(args, context) {
    const dataDir = dataDirOf(await settingsOf(args, context));
    const embedded = await connectTo(dataDir);
    try {
      print(
        context.terminal,
        args.json
          ? toJson({
              state: 'running',
              pid: embedded.pid,
              port: embedded.port,
              uri: embedded.uri,
              dataDir,
            })
          : `the development database runs (pid ${embedded.pid})\n${embedded.uri}`,
      );
      return exitCodes.done;
    } finally {
      await embedded.close();
    }
  },
};
