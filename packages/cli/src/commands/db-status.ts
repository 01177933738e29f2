import { embeddedStatus } from '@flowline/devdb';
import type { Command } from '../command-line/command.js';
import { toJson } from '../output/shapes.js';
import { dataDirOf } from '../session/embedded-only.js';
import { settingsOf } from '../session/settings-of.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

export const command: Command = {
  examples: [['flow db status', 'exit status 0 when it runs, 1 when not']],
  async run(args, context) {
    const dataDir = dataDirOf(await settingsOf(args, context));
    const status = await embeddedStatus(dataDir);
    if (args.json) print(context.terminal, toJson({ ...status, dataDir }));
    else if (status.state === 'running')
      print(context.terminal, `the development database runs (pid ${status.pid})\n${status.uri}`);
    else
      print(context.terminal, `the development database does not run; its data are in ${dataDir}`);
    return status.state === 'running' ? exitCodes.done : exitCodes.failed;
  },
};
