import { UsageError } from '@flowline/core';
import {
  type Backfill,
  type BackfillPlan,
  type BackfillRequest,
  parseDateRange,
  type Store,
} from '@flowline/core/internal';
import type { CommandContext } from '../command-line/command.js';
import { wholeFlag } from '../command-line/values.js';
import { backfillLine } from '../output/backfill-text.js';
import { backfillJson, toJson } from '../output/shapes.js';
import { table } from '../output/table.js';
import { counted, instant } from '../output/words.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { note, print } from '../terminal/terminal.js';
import { estimateEnd, pastDurations } from './estimate-end.js';
import { feedNow } from './feed-now.js';
import { requireDag } from './require.js';
import { watchBackfill } from './watch-backfill.js';
import type { Session } from './with-session.js';

/** More dates than this need a word from the operator: a forgotten minutely schedule would be a flood. */
const defaultMost = 1_000;
const shownDates = 20;
const latest = new Date(8.64e15);

export interface StartBackfillFlags {
  readonly dag: string;
  readonly params: unknown;
  readonly from: string;
  readonly to?: string;
  readonly maxActive?: number;
  readonly order?: 'oldest' | 'newest';
  readonly reprocess?: 'none' | 'failed' | 'all';
  readonly job?: readonly string[];
  readonly downstream?: boolean;
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly max?: number;
  readonly wait?: boolean;
  readonly json?: boolean;
}

/** `flow run <dag> --backfill`: plans, shows the plan, stores it, and watches it with --wait. */
export async function startBackfill(
  { store }: Session,
  flags: StartBackfillFlags,
  context: CommandContext,
): Promise<number> {
  const { terminal } = context;
  const maxActive = wholeFlag('--max-active', flags.maxActive);
  const most = wholeFlag('--max', flags.max) ?? defaultMost;
  const dag = await requireDag(store, flags.dag);
  const definition = await store.getVersion(dag.id, dag.version);
  if (definition?.schedule === undefined) {
    throw new UsageError(`${dag.id} has no schedule, so there are no logical dates to backfill`, {
      hint: `Run it once with "flow run ${dag.id}", or give it a schedule.`,
    });
  }
  const { schedule } = definition;
  const timeZone = 'timeZone' in schedule ? schedule.timeZone : 'UTC';
  // Where the scheduler takes over is the store's to say; nothing is cut here.
  const range = parseDateRange({ from: flags.from, to: flags.to }, timeZone, latest);
  const request: BackfillRequest = {
    dagId: dag.id,
    from: range.from,
    ...(flags.to === undefined ? {} : { to: range.to }),
    ...(maxActive === undefined ? {} : { maxActive }),
    ...(flags.order === undefined ? {} : { order: flags.order }),
    ...(flags.reprocess === undefined ? {} : { reprocess: flags.reprocess }),
    ...(flags.job === undefined ? {} : { jobs: flags.job }),
    ...(flags.downstream === undefined ? {} : { downstream: flags.downstream }),
    ...(flags.params === undefined ? {} : { params: flags.params }),
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
  };
  const isForReading = flags.dryRun === true && flags.json === true;
  const plan = await store.planBackfill(request, isForReading ? {} : { datesAtMost: shownDates });
  const toRun = plan.counts.create + plan.counts.rerun;
  if (flags.dryRun) {
    print(terminal, flags.json ? toJson(planJson(plan)) : planText(plan, shownDates, terminal));
    return exitCodes.done;
  }
  if (toRun > most && !flags.yes) {
    throw new UsageError(`this backfill would make ${toRun} runs, more than ${most}`, {
      hint: `Look at it with --dry-run, then add --yes, or --max ${toRun}.`,
    });
  }
  // stdout is for the result; the plan goes before it, where a person sees it.
  if (!flags.json) note(terminal, planText(plan, 5, terminal));
  const backfill = await store.createBackfill(request);
  try {
    return await tell(store, backfill, flags, context);
  } catch (error) {
    // Whatever went wrong since then, it will be worked through.
    note(terminal, `backfill ${backfill.id} is stored: flow backfill show ${backfill.id}`);
    throw error;
  }
}

async function tell(
  store: Store,
  backfill: Backfill,
  flags: Pick<StartBackfillFlags, 'wait' | 'json'>,
  context: CommandContext,
): Promise<number> {
  const { terminal } = context;
  // The leader would do it at its next tick; the first runs need not wait for it.
  await feedNow(store, backfill.id, terminal);
  if (flags.wait) return watchBackfill(store, backfill.id, flags.json === true, context);
  const now = (await store.getBackfill(backfill.id)) ?? backfill;
  const end = estimateEnd(store, now, await pastDurations(store, now));
  print(terminal, flags.json ? toJson(backfillJson(now, end?.at)) : backfillLine(terminal, now));
  if (!flags.json && now.endedAt === null)
    note(terminal, `watch it: flow backfill show ${backfill.id} --wait`);
  return exitCodes.done;
}

function planJson(plan: BackfillPlan) {
  const { dagId, ...rest } = plan;
  return { ...rest, dag: dagId, total: totalOf(plan) };
}

function planText(plan: BackfillPlan, most: number, terminal: CommandContext['terminal']): string {
  const { counts, first, last } = plan;
  const total = totalOf(plan);
  const head = `${counted(total, 'interval')} of ${plan.dagId} from ${instant(plan.from)} (included) to ${instant(plan.to)} (excluded)`;
  if (first === null || last === null) return [head, ...notes(plan)].join('\n');
  const shown = plan.dates.slice(0, most);
  return [
    head,
    `first ${instant(first)}, last ${instant(last)}: ${counts.create} to create, ${counts.rerun} to run again, ${counts.skip} left alone`,
    ...(plan.jobs === null ? [] : [`only the jobs ${plan.jobs.join(', ')}`]),
    ...notes(plan),
    table(
      terminal,
      ['LOGICAL DATE', 'ACTION', 'BECAUSE'],
      shown.map((date) => [instant(date.logicalDate), date.action, becauseWords(date)]),
    ),
    ...(total > shown.length ? [`... and ${total - shown.length} more`] : []),
  ].join('\n');
}

function totalOf({ counts }: BackfillPlan): number {
  return counts.create + counts.rerun + counts.skip;
}

function becauseWords({ because, source }: BackfillPlan['dates'][number]): string {
  const inputs = source === null ? [] : [`inputs from run ${source}`];
  return [...(because === null ? [] : [because]), ...inputs].join('; ');
}

function notes(plan: BackfillPlan): string[] {
  return plan.note === null ? [] : [`note: ${plan.note}`];
}
