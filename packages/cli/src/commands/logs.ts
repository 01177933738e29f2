import { NotFoundError } from '@flowline/core';
import { isClosedRun, type LogLine } from '@flowline/core/internal';
import type { Command, CommandContext } from '../command-line/command.js';
import { wholeFlag } from '../command-line/values.js';
import { pauseFor } from '../session/pause-for.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

const batch = 1_000;
const followEveryMs = 500;

export const command: Command = {
  positionals: [
    { name: 'run', describe: 'the id of the run', required: true, completes: 'run' },
    { name: 'job', describe: 'only lines of this job' },
  ],
  options: {
    follow: { type: 'boolean', alias: 'f', describe: 'go on until the run is over' },
    tail: { type: 'number', describe: 'only the last lines', requiresArg: true },
  },
  examples: [
    ['flow logs 01k2x3...', 'all lines of a run'],
    ['flow logs 01k2x3... extract --follow', 'lines of one job as they come'],
  ],
  notes:
    'With --json one JSON object per line. Lines are kept for the retention of the DAG (7 days unless set).',
  async run(args, context) {
    wholeFlag('--tail', args.tail);
    return withSession(args, context, async ({ store }) => {
      const run = await store.viewRun(args.run);
      if (run === null)
        throw new NotFoundError(`there is no run "${args.run}"`, { hint: 'See "flow runs".' });
      if (args.job !== undefined && !run.tasks.some(({ jobId }) => jobId === args.job)) {
        throw new NotFoundError(`the run ${args.run} has no job "${args.job}"`, {
          hint: `It has: ${run.tasks.map(({ jobId }) => jobId).join(', ')}.`,
        });
      }
      let cursor: string | null = null;
      let kept: LogLine[] = [];
      // Read the run's state before its lines: lines written before it closed are then never missed.
      for (
        let closed = isClosedRun(run.state);
        ;
        closed = isClosedRun((await store.getRun(args.run))?.state ?? 'cancelled')
      ) {
        for (;;) {
          const page: { lines: LogLine[]; cursor: string | null } = await store.readLogs({
            runId: args.run,
            limit: batch,
            ...(args.job === undefined ? {} : { jobId: args.job }),
            ...(cursor === null ? {} : { after: cursor }),
          });
          cursor = page.cursor ?? cursor;
          if (args.tail === undefined)
            for (const line of page.lines) printLine(line, args.json === true, context);
          else kept = [...kept, ...page.lines].slice(-args.tail);
          if (page.lines.length < batch) break;
        }
        for (const line of kept) printLine(line, args.json === true, context);
        kept = [];
        if (!args.follow || closed) return exitCodes.done;
        args.tail = undefined;
        await pauseFor(followEveryMs, context.terminal.interrupted);
      }
    });
  },
};

function printLine(line: LogLine, json: boolean, { terminal }: CommandContext): void {
  if (json) {
    const { runId, jobId, ...rest } = line;
    print(terminal, JSON.stringify({ run: runId, job: jobId, ...rest }));
    return;
  }
  const { colors } = terminal;
  const level =
    line.level === 'error' ? colors.red : line.level === 'warn' ? colors.yellow : colors.dim;
  const data = line.data === undefined || line.data === null ? '' : ` ${JSON.stringify(line.data)}`;
  print(
    terminal,
    `${colors.dim(line.at.toISOString())} ${level(line.level.padEnd(5))} ${line.jobId}#${line.attempt} ${line.message}${data}`,
  );
}
