import { type FireRecord, type Schedule, viewFire } from '@flowline/core/internal';
import type { Command } from '../command-line/command.js';
import { limitFlag } from '../command-line/values.js';
import { readableVersion } from '../output/schedule-words.js';
import { fireJson, toJson } from '../output/shapes.js';
import { table } from '../output/table.js';
import { instant } from '../output/words.js';
import { requireDag } from '../session/require.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { note, print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [{ name: 'dag', describe: 'the id of the DAG', required: true, completes: 'dag' }],
  options: {
    limit: { type: 'number', describe: 'at most this many lines (default 20)', requiresArg: true },
  },
  examples: [
    [
      'flow fires nightly-sales',
      'every due fire that did not become a run of its own, newest first',
    ],
  ],
  notes:
    'Local times are those of the zone of the current schedule. A span (more than 100 fires in a row with one reason) is one line.',
  async run(args, context) {
    const limit = limitFlag(args.limit);
    return withSession(args, context, async ({ store }) => {
      const dag = await requireDag(store, args.dag);
      const fires = await store.listFires(args.dag, { limit });
      // A schedule that cannot be evaluated has no local times either: the line itself still counts.
      const definition = await readableVersion(store.getVersion(dag.id, dag.version));
      const views = fires.map((fire) => viewed(fire, definition?.schedule));
      if (args.json) print(context.terminal, toJson(views.map(fireJson)));
      else if (views.length === 0) {
        const isOnDemand = definition !== null && definition.schedule === undefined;
        note(
          context.terminal,
          isOnDemand
            ? `${dag.id} has no schedule: it runs on demand`
            : `no fire of ${dag.id} was left without a run of its own`,
        );
      } else {
        print(
          context.terminal,
          table(
            context.terminal,
            ['FROM', 'TO', 'LOCAL', 'FIRES', 'REASON', 'RUN', 'NOTE'],
            views.map((fire) => [
              instant(fire.from),
              instant(fire.to),
              fire.localFrom ?? '-',
              fire.count === 0 ? '?' : String(fire.count),
              fire.reason,
              fire.runId ?? '-',
              fire.note ?? '',
            ]),
          ),
        );
      }
      return exitCodes.done;
    });
  },
};

/** The line with its local times, and what a change of clocks did to its first fire. */
function viewed(fire: FireRecord, schedule: Schedule | undefined) {
  try {
    if (schedule !== undefined) {
      const [from, to] = [viewFire(schedule, fire.from), viewFire(schedule, fire.to)];
      return { ...fire, localFrom: from.local, localTo: to.local, note: from.note };
    }
  } catch {
    // Marked broken: `flow dags` says why.
  }
  return { ...fire, localFrom: null, localTo: null, note: null };
}
