import { NotFoundError } from '@flowline/core';
import { didYouMean, isClosedRun, isClosedTask, type Store } from '@flowline/core/internal';
import type { Command } from '../command-line/command.js';
import { type Surroundings, whyRunWaits, whyTaskWaits } from '../diagnosis/why-it-waits.js';
import { toJson } from '../output/shapes.js';
import { stateWord } from '../output/words.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [
    { name: 'run', describe: 'the id of the run', required: true, completes: 'run' },
    { name: 'job', describe: 'only this job, whatever its state' },
  ],
  examples: [
    ['flow why 01k2x3...', 'why the run has not ended, and each of its open tasks'],
    ['flow why 01k2x3... convert', 'one job of it'],
  ],
  async run(args, context) {
    const { terminal } = context;
    return withSession(args, context, async ({ store }) => {
      const facts = await surroundingsOf(store, args.run);
      const { run } = facts;
      const jobs = run.tasks.map(({ jobId }) => jobId);
      if (args.job !== undefined && !jobs.includes(args.job)) {
        const near = didYouMean(args.job, jobs);
        throw new NotFoundError(`the run ${run.id} has no job "${args.job}"`, {
          hint: near === undefined ? `It has: ${jobs.join(', ')}.` : `Did you mean "${near}"?`,
        });
      }
      const isAsked = args.job === undefined ? undefined : (job: string) => job === args.job;
      const tasks = run.tasks
        .filter(
          (task) => isAsked?.(task.jobId) ?? (!isClosedTask(task.state) && !isClosedRun(run.state)),
        )
        .map((task) => ({ job: task.jobId, state: task.state, why: whyTaskWaits(task, facts) }));
      const why = whyRunWaits(facts);
      if (args.json) {
        print(terminal, toJson({ run: run.id, dag: run.dagId, state: run.state, why, tasks }));
        return exitCodes.done;
      }
      print(terminal, `${run.dagId} ${run.id} ${stateWord(terminal, run.state)}: ${why}`);
      for (const task of tasks)
        print(terminal, `  ${task.job} ${stateWord(terminal, task.state)}: ${task.why}`);
      return exitCodes.done;
    });
  },
};

/** Everything that the reasons are made of. Throws NotFoundError. */
async function surroundingsOf(store: Store, runId: string): Promise<Surroundings> {
  const run = await store.viewRun(runId);
  if (run === null)
    throw new NotFoundError(`there is no run "${runId}"`, { hint: 'See "flow runs".' });
  const [dag, limits, backfill, runners, leadership, now] = await Promise.all([
    store.getDag(run.dagId),
    store.getVersion(run.dagId, run.version),
    run.backfillId === null ? null : store.getBackfill(run.backfillId),
    store.listRunners(),
    store.getLeadership(),
    store.readServerTime(),
  ]);
  return { run, dag, limits, backfill, runners, leadership, now };
}
