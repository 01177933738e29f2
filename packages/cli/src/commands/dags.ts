import type { Dag } from '@flowline/core/internal';
import type { Command } from '../command-line/command.js';
import { comingFires } from '../output/coming-fires.js';
import { readableVersion, scheduleWords } from '../output/schedule-words.js';
import { toJson } from '../output/shapes.js';
import { table } from '../output/table.js';
import { instant } from '../output/words.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

const isPaused = ({ state, pausedAt }: Dag) => state === 'active' && pausedAt !== null;

export const command: Command = {
  options: {
    all: { type: 'boolean', describe: 'retired DAGs too' },
    project: { type: 'string', describe: 'only those of this project', requiresArg: true },
  },
  examples: [
    ['flow dags', 'what is deployed, with the next fire of each'],
    ['flow dags --json | jq .[].id', 'just the ids'],
  ],
  async run(args, context) {
    return withSession(args, context, async (session) => {
      const dags = await session.store.listDags({
        ...(args.all ? {} : { state: 'active' as const }),
        ...(args.project === undefined ? {} : { project: args.project }),
      });
      const rows = await Promise.all(
        dags.map(async (dag) => {
          const [definition, runs] = await Promise.all([
            readableVersion(session.store.getVersion(dag.id, dag.version)),
            session.store.countRuns(dag.id),
          ]);
          return {
            dag,
            schedule: definition?.schedule ?? null,
            next: comingFires(dag, definition, 1).find(({ isExcluded }) => !isExcluded),
            openRuns: (runs.queued ?? 0) + (runs.running ?? 0),
          };
        }),
      );
      if (args.json) {
        print(
          context.terminal,
          toJson(
            rows.map(({ dag, next, ...rest }) => ({
              ...dag,
              // The cursor may stand before an excluded date.
              nextFireAt: next?.logicalDate ?? dag.nextFireAt,
              ...rest,
            })),
          ),
        );
      } else if (rows.length === 0) {
        print(context.terminal, 'nothing is deployed: run "flow deploy"');
      } else {
        print(
          context.terminal,
          table(
            context.terminal,
            ['DAG', 'VERSION', 'SCHEDULE', 'NEXT FIRE', 'OPEN RUNS', 'STATE'],
            rows.map(({ dag, next, schedule, openRuns }) => [
              dag.id,
              dag.version.slice(0, 12),
              scheduleWords(schedule),
              isPaused(dag) ? 'paused' : instant(next?.logicalDate ?? null),
              String(openRuns),
              dag.broken === null ? dag.state : `schedule broken: ${dag.broken}`,
            ]),
          ),
        );
      }
      return exitCodes.done;
    });
  },
};
