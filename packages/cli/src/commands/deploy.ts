import { UsageError } from '@flowline/core';
import type { DeployResult, Store } from '@flowline/core/internal';
import type { Command, CommandContext } from '../command-line/command.js';
import { problemCount, problemText } from '../output/problem-text.js';
import { toJson } from '../output/shapes.js';
import { counted } from '../output/words.js';
import { loadProject, type Project } from '../session/load-project.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { note, print, type Terminal } from '../terminal/terminal.js';

type Change = DeployResult['change'] | 'removed' | 'not in the code';

interface Planned {
  readonly id: string;
  readonly version: string;
  readonly change: Change;
  readonly previousVersion: string | null;
  readonly openRuns: number;
}

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
    'Open runs go on under the version they were created with. Deploying the same code twice changes nothing.',
  async run(args, context) {
    const { terminal, cwd } = context;
    const hasPaths = args.paths.length > 0;
    if (args.prune && hasPaths) {
      throw new UsageError('--prune needs the whole project, found paths', {
        hint: 'What is not in these paths is not gone. Run "flow deploy --prune" without paths.',
      });
    }
    const project = await loadProject(args, args.paths, context);
    if (project.problems.length > 0)
      note(terminal, `${problemText(terminal, project.problems, cwd)}\n`);
    if (project.hasErrors) {
      note(terminal, `${problemCount(project.problems)}; nothing was stored`);
      return exitCodes.usage;
    }
    return withSession(args, context, async ({ store }) => {
      const plan = await planAll(store, project, hasPaths, args.prune === true);
      if (!args.json) for (const line of planLines(terminal, plan)) print(terminal, line);
      if (args.prune && !args.dryRun && !args.yes) await refuseUnconfirmed(plan, context);
      const done = args.dryRun ? plan : await deployAll(store, project, plan);
      if (args.json) print(terminal, toJson({ dags: done.flatMap(deployedJson) }));
      else if (args.dryRun) print(terminal, 'dry run: nothing was stored');
      return exitCodes.done;
    });
  },
};

/** `{ id, version, change }`; what left the code without being pruned is not changed by this deploy. */
function deployedJson({ id, version, change }: Planned) {
  if (change === 'not in the code') return [];
  return [{ id, version, change: change === 'revived' ? 'added' : change }];
}

/** What would change. Ownership of every DAG is checked before anything is written. */
async function planAll(
  store: Store,
  project: Project,
  isPartial: boolean,
  prune: boolean,
): Promise<Planned[]> {
  const name = project.settings.project;
  const plan: Planned[] = [];
  for (const { definition, version } of project.dags) {
    const result = await store.planDeploy({ definition, version, project: name });
    plan.push({ id: definition.id, version, ...result });
  }
  if (isPartial) return plan;
  const inCode = new Set(project.dags.map(({ definition }) => definition.id));
  for (const dag of await store.listDags({ project: name, state: 'active' })) {
    if (inCode.has(dag.id)) continue;
    const runs = await store.countRuns(dag.id);
    plan.push({
      id: dag.id,
      version: dag.version,
      change: prune ? 'removed' : 'not in the code',
      previousVersion: dag.version,
      openRuns: (runs.queued ?? 0) + (runs.running ?? 0),
    });
  }
  return plan;
}

async function deployAll(
  store: Store,
  project: Project,
  plan: readonly Planned[],
): Promise<Planned[]> {
  const name = project.settings.project;
  const done: Planned[] = [];
  for (const { definition, version } of project.dags) {
    const result = await store.deployDag({ definition, version, project: name });
    done.push({ id: definition.id, version, ...result });
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

function planLines(terminal: Terminal, plan: readonly Planned[]): string[] {
  const { colors } = terminal;
  const word: Record<Change, string> = {
    added: colors.green('added    '),
    revived: colors.green('revived  '),
    changed: colors.cyan('changed  '),
    unchanged: colors.dim('unchanged'),
    removed: colors.red('removed  '),
    'not in the code': colors.yellow('kept     '),
  };
  return plan.map(({ id, version, change, previousVersion, openRuns }) => {
    const versions = change === 'changed' ? `${previousVersion} -> ${version}` : version;
    const open =
      openRuns === 0 || change === 'unchanged'
        ? ''
        : `, ${counted(openRuns, 'open run')} on the version they have`;
    const left =
      change === 'not in the code' ? ', not in the code any more: --prune retires it' : '';
    return `${word[change]} ${id}  ${versions}${open}${left}`;
  });
}
