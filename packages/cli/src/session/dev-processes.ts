/** The processes of `flow dev`: Node cannot unload a module, so changed code needs a fresh process. */
import { type ChildProcess, fork, type StdioOptions } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { exitCodes } from '../terminal/exit-codes.js';

const main = fileURLToPath(new URL('../../bin/flow.js', import.meta.url));

/** A `flow runner --deploy` that `flow dev` keeps. */
export interface DevRunner {
  /** The exit status; null after SIGKILL. */
  readonly ended: Promise<number | null>;
  hasEnded(): boolean;
  /** Asks it to drain; a second time, to hurry. */
  stop(): void;
}

/** Starts a runner that deploys first; `loaded` is told every file that it has loaded. */
export function startDevRunner(
  args: readonly string[],
  cwd: string,
  loaded: (files: readonly string[]) => void,
): DevRunner {
  const child = start(['runner', '--deploy', '--drain-timeout', '2s', ...args], cwd, 'inherit');
  let over = false;
  const ended = new Promise<number | null>((resolve) =>
    child.once('exit', (code) => {
      over = true;
      resolve(code);
    }),
  );
  child.on('message', (message: { type?: string; files?: string[] }) => {
    if (message.type === 'loaded') loaded(message.files ?? []);
  });
  return { ended, hasEnded: () => over, stop: () => void child.kill('SIGTERM') };
}

/** Whether the jobs compile as they are now; what is wrong goes to stderr. */
export function compiles(args: readonly string[], cwd: string): Promise<boolean> {
  const child = start(['compile', ...args], cwd, 'ignore');
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code === exitCodes.done));
  });
}

function start(args: readonly string[], cwd: string, stdout: 'inherit' | 'ignore'): ChildProcess {
  const stdio: StdioOptions = ['ignore', stdout, 'inherit', 'ipc'];
  // Detached: the terminal sends its signals to `flow dev` only, so that one Ctrl-C is one drain.
  return fork(main, [...args], { cwd, stdio, detached: true });
}
