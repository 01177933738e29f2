import { relative } from 'node:path';
import type { Command } from '../command-line/command.js';
import { wholeFlag } from '../command-line/values.js';
import { type SourceWatch, watchSources } from '../loading/watch-sources.js';
import { compiles, type DevRunner, startDevRunner } from '../session/dev-processes.js';
import { exitCodeOfSignal, exitCodes } from '../terminal/exit-codes.js';
import { note } from '../terminal/terminal.js';

export const command: Command = {
  drains: true,
  positionals: [
    {
      name: 'paths',
      describe: 'files, folders or globs instead of those of the config',
      variadic: true,
      completes: 'path',
    },
  ],
  options: {
    concurrency: {
      type: 'number',
      describe: 'how many tasks at once (default 10)',
      requiresArg: true,
    },
  },
  examples: [['flow dev', 'then, in another terminal: flow run hello --wait']],
  notes:
    'Deploys, leads and runs in one process, on the embedded database unless a MongoDB URI is set. When a source changes and compiles, running tasks are handed back and the process is replaced; while it does not compile, the code that was there goes on.',
  async run(args, { terminal, cwd }) {
    wholeFlag('--concurrency', args.concurrency);
    const shared = [...flagsOf(args, sharedFlags), ...args.paths];
    const forRunner = [...flagsOf(args, ['concurrency']), ...shared];
    const say = (line: string) => note(terminal, terminal.colors.dim(line));
    const interrupted = onAbort(terminal.interrupted);
    const files = new Set<string>();
    let watch: SourceWatch = watchSources(cwd);
    const start = (): DevRunner =>
      startDevRunner(forRunner, cwd, (loaded) => {
        for (const file of loaded) files.add(file);
        watch.add(loaded);
      });
    let runner = start();
    try {
      for (;;) {
        const changed = watch.changed.then((file) => ({ file }));
        // A runner that ended by itself has said why; a change may mend it.
        const ended = runner.ended.then((code) => ({ code }));
        let first = await Promise.race([changed, interrupted, ended]);
        if (first !== undefined && 'code' in first) {
          if (first.code === exitCodes.unreachable) return first.code;
          say('waiting for a change');
          first = await Promise.race([changed, interrupted]);
        }
        if (first === undefined || terminal.interrupted.aborted) break;
        say(`${relative(cwd, first.file)} changed`);
        // Before the code is read, so that a change in the meantime is not lost.
        watch.close();
        watch = watchSources(cwd);
        watch.add([...files]);
        if (!runner.hasEnded()) {
          const fine = await Promise.race([compiles(shared, cwd), interrupted]);
          if (fine === undefined) break;
          if (!fine) {
            say('the code that was there goes on until this is mended');
            continue;
          }
          runner.stop();
          if ((await Promise.race([runner.ended.then(() => true), interrupted])) === undefined)
            break;
        }
        runner = start();
      }
      if (!runner.hasEnded()) runner.stop();
      const hurry = () => runner.stop();
      process.on('SIGINT', hurry).on('SIGTERM', hurry);
      await runner.ended;
      return exitCodeOfSignal(terminal.interrupted.reason);
    } finally {
      watch.close();
    }
  },
};

const sharedFlags = ['config', 'mongodb-uri', 'database', 'data-dir', 'log-level'];

/** Flags as this command got them, for another process. */
function flagsOf(args: Record<string, unknown>, names: readonly string[]): string[] {
  return names.flatMap((name) =>
    args[name] === undefined ? [] : [`--${name}`, String(args[name])],
  );
}

function onAbort(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
