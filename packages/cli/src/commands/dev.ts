import { fork } from 'node:child_process';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from '../command-line/command.js';
import { watchSources } from '../loading/watch-sources.js';
import { exitCodeOfSignal, exitCodes } from '../terminal/exit-codes.js';
import { note } from '../terminal/terminal.js';

export const command: Command = {
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
    'Deploys, leads and runs in one process, on the embedded database unless a MongoDB URI is set. When a job file changes, running tasks are handed back and the process is replaced: Node cannot unload a module.',
  async run(args, { terminal, cwd }) {
    const flags = runnerFlags(args);
    const main = fileURLToPath(new URL('../../bin/flow.js', import.meta.url));
    for (;;) {
      const child = fork(
        main,
        ['runner', '--deploy', '--drain-timeout', '2s', ...flags, ...args.paths],
        {
          cwd,
          stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
          // The terminal sends its signals to this process only, so that one Ctrl-C is one drain.
          detached: true,
          env: { ...process.env, FLOW_DEV: '1' },
        },
      );
      const ended = new Promise<number | null>((resolve) =>
        child.once('exit', (code) => resolve(code)),
      );
      const watch = watchSources(cwd);
      child.on('message', (message: { type?: string; files?: string[] }) => {
        if (message.type === 'loaded') watch.add(message.files ?? []);
      });
      const interrupted = onAbort(terminal.interrupted);
      const first = await Promise.race([
        watch.changed.then((file) => ({ kind: 'changed' as const, file })),
        interrupted.then(() => ({ kind: 'interrupted' as const })),
        // A child that ended by itself has said why; a change may mend it.
        ended.then((code) => ({ kind: 'ended' as const, code })),
      ]);
      if (first.kind === 'ended' && !terminal.interrupted.aborted) {
        if (first.code === exitCodes.unreachable) {
          watch.close();
          return first.code;
        }
        note(terminal, terminal.colors.dim('waiting for a change'));
        const next = await Promise.race([watch.changed, interrupted]);
        watch.close();
        if (terminal.interrupted.aborted) return exitCodeOfSignal(terminal.interrupted.reason);
        note(terminal, terminal.colors.dim(`${relative(cwd, String(next))} changed`));
        continue;
      }
      watch.close();
      child.kill('SIGTERM');
      if (first.kind === 'interrupted') {
        const force = () => child.kill('SIGTERM');
        process.on('SIGINT', force).on('SIGTERM', force);
        await ended;
        return exitCodeOfSignal(terminal.interrupted.reason);
      }
      await ended;
      if (first.kind === 'changed')
        note(terminal, terminal.colors.dim(`${relative(cwd, first.file)} changed`));
    }
  },
};

/** The flags that the runner gets as this command got them. */
function runnerFlags(args: Record<string, unknown>): string[] {
  const names = ['config', 'mongodb-uri', 'database', 'data-dir', 'log-level', 'concurrency'];
  return names.flatMap((name) =>
    args[name] === undefined ? [] : [`--${name}`, String(args[name])],
  );
}

function onAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
