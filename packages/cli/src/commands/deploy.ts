import { UsageError } from '@flowline/core';
import type { Store } from '@flowline/core/internal';
import type { Command, CommandContext } from '../command-line/command.js';
import { deployedJson, planLines } from '../output/deploy-text.js';
import { problemCount, problemJson, problemText } from '../output/problem-text.js';
import { toJson } from '../output/shapes.js';
import { loadProject, type Project } from '../session/load-project.js';
import { type Planned, planDeploys } from '../session/plan-deploy.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { note, print } from '../terminal/terminal.js';

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
    'dry-run': { type: 'boolean', describe: 'show the plan and store nothing' },
    prune: {
      type: 'boolean',
      describe: 'retire DAGs of this project that are not in the code any more',
    },
    yes: { type: 'boolean', describe: 'do not ask before --prune retires something' },
  },
  examples: [
    ['flow deploy', 'compile, show what changes, store it'],
    ['flow deploy --dry-run', 'only show it'],
    ['flow deploy --prune --yes', 'also retire what left the code'],
  ],
  notes:
    'An open run goes on under the version it was created with, also one of a DAG that --prune retires, as long as a runner has its code (flow cancel ends it); but scheduled and catch-up runs that a pause holds in the queue are cancelled then, since nobody would resume it. A DAG that is deployed again comes back with its history, still paused if it was, and owes nothing for the time between. Deploying the same code twice changes nothing. The plan shows the next five fires before and after a change, and warns where a schedule meets a change of clocks within two years.',
  async run(args, context) {
    const { terminal, cwd } = context;
    const hasPaths = args.paths.length > 0;
    if (args.prune && hasPaths) {
      throw new UsageError('--prune needs the whole project, found paths', {
        hint: 'What is not in these paths is not gone. Run "flow deploy --prune" without paths.',
      });
    }
    const project = await loadProject(args, args.paths, context);
    const said = [...project.problems, ...project.dayWarnings];
    if (said.length > 0) note(terminal, `${problemText(terminal, said, cwd)}\n`);
    if (project.hasErrors) {
      note(terminal, `${problemCount(project.problems)}; nothing was stored`);
      return exitCodes.usage;
    }
    return withSession(args, context, async ({ store }) => {
      const plan = await planDeploys(store, project, {
        isPartial: hasPaths,
        prune: args.prune === true,
      });
      if (!args.json) for (const line of planLines(terminal, plan)) print(terminal, line);
      if (args.prune && !args.dryRun && !args.yes) await refuseUnconfirmed(plan, context);
      const done = args.dryRun ? plan : await deployAll(store, project, plan);
      if (args.json) {
        const warnings = said.map(problemJson);
        print(terminal, toJson({ dags: done.flatMap(deployedJson), warnings }));
      } else if (args.dryRun) print(terminal, 'dry run: nothing was stored');
      return exitCodes.done;
    });
  },
};

/** Stores what was planned; the answer is what was done, which another shell may have changed in between. */
async function deployAll(
  store: Store,
  project: Project,
  plan: readonly Planned[],
): Promise<Planned[]> {
  const name = project.settings.project;
  const done: Planned[] = [];
  for (const [index, { definition, version }] of project.dags.entries()) {
    const result = await store.deployDag({ definition, version, project: name });
    // The plan begins with the DAGs of the code, in their order.
    done.push({ ...(plan[index] as Planned), ...result });
  }
  for (const planned of plan) {
    if (planned.change === 'removed') await store.retireDag(planned.id, name);
    if (planned.change === 'removed' || planned.change === 'not in the code') done.push(planned);
  }
  return done;
}

/** Retiring stops schedules: a person is asked, a script has to say --yes. */
async function refuseUnconfirmed(
  plan: readonly Planned[],
  { terminal }: CommandContext,
): Promise<void> {
  const removed = plan.filter(({ change }) => change === 'removed').map(({ id }) => id);
  if (removed.length === 0) return;
  if (terminal.isInteractive && process.stdin.isTTY) {
    const { createInterface } = await import('node:readline/promises');
    const question = createInterface({ input: process.stdin, output: process.stderr });
    // Readline keeps Ctrl-C to itself; it shall mean here what it means everywhere.
    question.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    try {
      const answer = await question.question(`Retire ${removed.join(', ')}? [y/N] `, {
        signal: terminal.interrupted,
      });
      if (/^y(es)?$/i.test(answer.trim())) return;
    } catch (error) {
      terminal.interrupted.throwIfAborted();
      throw error;
    } finally {
      question.close();
    }
  }
  throw new UsageError(`--prune would retire ${removed.join(', ')}; nothing was stored`, {
    hint: 'Add --yes to do it.',
  });
}
