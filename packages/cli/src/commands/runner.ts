import { CompileError, OptionError } from '@flowline/core';
import { executableJobs } from '@flowline/core/internal';
import { Runner } from '@flowline/runner';
import type { Command, CommandContext } from '../command-line/command.js';
import { durationFlag, wholeFlag } from '../command-line/values.js';
import { loadedFiles } from '../loading/hooks/install-loader.js';
import { problemText } from '../output/problem-text.js';
import { deployProject } from '../session/deploy-project.js';
import { loadProject } from '../session/load-project.js';
import { openDatabase } from '../session/open-database.js';
import { exitCodeOfSignal, exitCodes } from '../terminal/exit-codes.js';
import { runnerLog } from '../terminal/runner-log.js';
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
    lease: {
      type: 'string',
      describe: 'how long a task is ours without a renewal (default 20s)',
      requiresArg: true,
    },
    'no-lead': { type: 'boolean', describe: 'run tasks, never lead' },
    'only-lead': { type: 'boolean', describe: 'lead, run no tasks', conflicts: 'no-lead' },
    'drain-timeout': {
      type: 'string',
      describe: 'how long running tasks may go on after a signal (default 30s)',
      requiresArg: true,
    },
    deploy: { type: 'boolean', describe: 'deploy the jobs first' },
    'health-port': {
      type: 'number',
      describe: 'answer /healthz and /readyz at this port (0 takes a free one)',
      requiresArg: true,
    },
    'health-host': {
      type: 'string',
      describe: 'the address to answer at (default 127.0.0.1)',
      requiresArg: true,
    },
  },
  examples: [
    ['flow runner', 'claims tasks of the jobs it has the code of, and leads when it is its turn'],
    ['flow runner --concurrency 50 --no-lead', 'only works'],
  ],
  notes:
    'Waits for a database that is away, at the start too; with --deploy it has to be there. A first SIGTERM or SIGINT drains: running tasks go on up to --drain-timeout, are then aborted and handed back. A second one forces. Exit status 143 or 130 after a clean drain, 4 when a task ignored its abort, 1 when forced or when the runner cannot go on.',
  async run(args, context) {
    const { terminal, cwd } = context;
    const project = await loadProject(args, args.paths, context);
    const { settings } = project;
    followParent(project.files);
    const errors = project.problems.filter(({ severity }) => severity === 'error');
    if (errors.length > 0) {
      note(terminal, problemText(terminal, errors, cwd));
      throw new CompileError(errors);
    }
    const jobs = executableJobs(project.classes);
    const database = await openDatabase(settings);
    try {
      if (args.deploy) await deployProject(database.connection, project, terminal);
      const runner = new Runner({
        connection: database.connection,
        jobs,
        log: runnerLog(terminal, settings.logLevel),
        ...optional(
          'concurrency',
          wholeFlag('--concurrency', args.concurrency) ?? settings.runner.concurrency,
        ),
        ...optional('leaseMs', durationFlag('--lease', args.lease) ?? settings.runner.leaseMs),
        ...optional(
          'drainTimeoutMs',
          durationFlag('--drain-timeout', args.drainTimeout) ?? settings.runner.drainTimeoutMs,
        ),
        ...optional('onExpectationMissed', settings.onExpectationMissed),
        lead: args.onlyLead ? 'only' : !args.noLead,
        ...optional('health', healthAddress(args.healthPort, args.healthHost)),
      });
      const interrupted = signalOf(terminal.interrupted);
      const broken = runner.failure.then((error) => ({ error }));
      // Waiting for a database ends with a signal, too; what comes of it then is told by stop().
      const started = runner.start().then(() => {
        process.send?.({ type: 'started', runner: runner.id });
      });
      let end = await Promise.race([started, interrupted, broken]);
      end ??= await Promise.race([interrupted, broken]);
      started.catch(() => {});
      if (typeof end === 'object') return await endBroken(runner, terminal);
      const force = () => void runner.stop({ force: true });
      process.on('SIGINT', force).on('SIGTERM', force);
      const report = await runner.stop({ signal: String(end) });
      if (report.forced) return exitCodes.failed;
      return report.abandoned.length > 0 ? exitCodes.partly : exitCodeOfSignal(end);
    } finally {
      await database.close();
    }
  },
};

/** Under `flow dev`: tells which files to watch, and ends when `flow dev` is gone. */
function followParent(files: readonly string[]): void {
  if (process.send === undefined) return;
  process.send({ type: 'loaded', files: [...files, ...loadedFiles()] });
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  // Listening must not keep a runner alive that has failed.
  process.channel?.unref();
}

/** A runner that cannot go on ends within this time, whatever its tasks do: its supervisor starts another one. */
const brokenDrainMs = 15_000;

async function endBroken(runner: Runner, terminal: CommandContext['terminal']): Promise<number> {
  note(terminal, 'the runner cannot go on; it hands back what it can and ends');
  const hurry = setTimeout(() => void runner.stop({ force: true }), brokenDrainMs);
  setTimeout(() => process.exit(exitCodes.failed), brokenDrainMs + 10_000).unref();
  await runner.stop({ signal: 'a fault of the runner' }).catch(() => {});
  clearTimeout(hurry);
  return exitCodes.failed;
}

/** The flags of the health endpoint. Throws OptionError. */
function healthAddress(port: unknown, host: unknown): { port: number; host?: string } | undefined {
  if (port === undefined) {
    if (host === undefined) return undefined;
    throw new OptionError('--health-host', '--health-port beside it', host);
  }
  if (!Number.isInteger(port) || (port as number) < 0 || (port as number) > 65_535) {
    throw new OptionError('--health-port', 'a port number, 0 to 65535', port);
  }
  return { port: port as number, ...optional('host', host as string | undefined) };
}

function signalOf(interrupted: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (interrupted.aborted) resolve(interrupted.reason);
    else interrupted.addEventListener('abort', () => resolve(interrupted.reason), { once: true });
  });
}

function optional<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): { [K in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { [K in Key]?: Value };
}
