import { NotFoundError } from '@flowline/core';
import { type Dag, type DagDefinition, didYouMean, type Store } from '@flowline/core/internal';
import type { Command, CommandContext } from '../command-line/command.js';
import { comingFires, firesInWords } from '../output/coming-fires.js';
import { missedText } from '../output/missed-text.js';
import { runJson } from '../output/run-json.js';
import { runText } from '../output/run-text.js';
import { readableVersion, scheduleWords } from '../output/schedule-words.js';
import { backfillJson, missedJson, nextFireJson, toJson } from '../output/shapes.js';
import { table } from '../output/table.js';
import { counted, instant, span, stateWord } from '../output/words.js';
import { estimateEnd } from '../session/estimate-end.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [
    { name: 'id', describe: 'the id of a DAG or of a run', required: true, completes: 'dag' },
  ],
  examples: [
    ['flow show nightly-sales', 'its jobs, next fires, open runs and fires that did not run'],
    ['flow show 01k2x3...', 'a run: its tasks and every attempt'],
  ],
  async run(args, context) {
    return withSession(args, context, async ({ store }) => {
      const dag = await store.getDag(args.id);
      if (dag !== null) {
        await showDag(store, dag, args.json === true, context);
        return exitCodes.done;
      }
      const run = await store.viewRun(args.id);
      if (run === null) {
        const near = didYouMean(
          args.id,
          (await store.listDags()).map(({ id }) => id),
        );
        throw new NotFoundError(`there is no DAG and no run "${args.id}"`, {
          hint: near === undefined ? 'See "flow dags" and "flow runs".' : `Did you mean "${near}"?`,
        });
      }
      // Few runs have missed anything: the others cost no further question.
      const missed = run.missed.length === 0 ? [] : await store.listMissed({ runId: run.id });
      print(
        context.terminal,
        args.json ? toJson(runJson(run)) : runText(context.terminal, run, missed),
      );
      return exitCodes.done;
    });
  },
};

async function showDag(
  store: Store,
  dag: Dag,
  json: boolean,
  { terminal }: CommandContext,
): Promise<void> {
  const [definition, runs, fires, recent, backfills, unserved, missed, missedCounts] =
    await Promise.all([
      readableVersion(store.getVersion(dag.id, dag.version)),
      store.countRuns(dag.id),
      store.countFires(dag.id),
      store.listRuns({ dagId: dag.id, limit: 5 }),
      store.listBackfills({ dagId: dag.id, state: ['running', 'paused'], limit: 5 }),
      store.findUnserved(100),
      store.listMissed({ dagId: dag.id, limit: 3 }),
      store.countMissed(dag.id),
    ]);
  const nextFires = comingFires(dag, definition, 3);
  const unservedHere = unserved.filter(({ serveKey }) => serveKey.startsWith(`${dag.id}/`));
  if (json) {
    const facts = {
      nextFires: nextFires.map(nextFireJson),
      runs,
      fires,
      recent: recent.map(runJson),
      backfills: backfills.map((one) => backfillJson(one, estimateEnd(store, one)?.at)),
      missed: { ...missedCounts, recent: missed.map(missedJson) },
    };
    print(terminal, toJson({ ...dag, definition, ...facts, unserved: unservedHere }));
    return;
  }
  const { colors } = terminal;
  print(
    terminal,
    `${colors.bold(dag.id)}  version ${dag.version}, project ${dag.project}, ${dag.state}`,
  );
  print(terminal, scheduleLine(dag, definition));
  if (nextFires.length > 0) print(terminal, `next fires: ${firesInWords(nextFires)}`);
  if (dag.broken !== null)
    print(terminal, colors.red(`the schedule cannot be evaluated: ${dag.broken}`));
  const counts = Object.entries(runs).map(
    ([state, count]) => `${count} ${stateWord(terminal, state)}`,
  );
  print(terminal, `runs: ${counts.length === 0 ? 'none yet' : counts.join(', ')}`);
  const misses = Object.entries(fires).map(([reason, count]) => `${count} ${reason}`);
  if (misses.length > 0)
    print(
      terminal,
      `fires without a run of their own: ${misses.join(', ')} (flow fires ${dag.id})`,
    );
  const late = Object.entries(missedCounts).map(([kind, count]) => `${count} ${kind}`);
  if (late.length > 0) print(terminal, colors.yellow(`missed expectations: ${late.join(', ')}`));
  for (const one of missed) print(terminal, `  ${missedText(one)}`);
  for (const { serveKey, count } of unservedHere) {
    print(
      terminal,
      colors.yellow(`no runner knows ${serveKey.split('/')[1]}: ${counted(count, 'task')} waiting`),
    );
  }
  if (definition !== null) {
    print(terminal);
    print(
      terminal,
      table(
        terminal,
        ['JOB', 'AFTER', 'ATTEMPTS', 'TIMEOUT'],
        definition.jobs.map((job) => [
          job.id,
          job.dependsOn.join(', ') || '-',
          String(job.retry.attempts),
          span(job.timeoutMs),
        ]),
      ),
    );
  }
  for (const backfill of backfills) {
    print(
      terminal,
      `\nbackfill ${backfill.id}: ${stateWord(terminal, backfill.state)}, ${backfill.succeeded} of ${backfill.total} done`,
    );
  }
  if (recent.length === 0) return;
  print(terminal);
  print(
    terminal,
    table(
      terminal,
      ['RECENT RUNS', 'STATE', 'CAUSE', 'LOGICAL DATE'],
      recent.map((run) => [
        run.id,
        stateWord(terminal, run.state),
        run.cause,
        instant(run.logicalDate),
      ]),
    ),
  );
}

function scheduleLine(dag: Dag, definition: DagDefinition | null): string {
  const schedule = definition?.schedule;
  if (schedule === undefined) return 'on demand';
  const paused = dag.pausedAt === null ? '' : `; paused since ${instant(dag.pausedAt)}`;
  return `${scheduleWords(schedule)}${paused}; misfire ${definition?.misfire.policy}, overlap ${definition?.overlap}`;
}
