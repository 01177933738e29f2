import { isClosedRun } from '../../model/states.js';
import type { BackfillRequest, PlannedDate } from '../verbs/backfill-verbs.js';
import type { Cover, DateHistory, KnownRun } from './date-history.js';
import type { PartHistory } from './part-history.js';

type DatePlan = Pick<PlannedDate, 'action' | 'generation' | 'because' | 'source'>;

/**
 * What a backfill does with one logical date. Pure.
 *
 * A date whose run is open is always left alone: it is being done. Else `none` leaves every date alone that has a run, or that a
 * coalesced run stood for successfully; `failed` also redoes dates whose latest run failed or was cancelled; `all` redoes
 * every date. A date that was only written down in `fires`, or whose coalesced run failed, has no run: it gets one.
 */
export function planDate(
  history: DateHistory | PartHistory | undefined,
  cover: Cover | undefined,
  reprocess: NonNullable<BackfillRequest['reprocess']>,
): DatePlan {
  const generation = (history?.generation ?? -1) + 1;
  const latest = history?.latest ?? null;
  const source = history !== undefined && 'source' in history ? history.source : null;
  if (latest !== null) {
    if (!isClosedRun(latest.state)) return skip(latest, `run ${latest.runId} is ${latest.state}`);
    const says = describeClosed(latest);
    const isRedone =
      reprocess === 'all' || (reprocess === 'failed' && latest.state !== 'succeeded');
    if (!isRedone) return skip(latest, says);
    return withInputs(history, { action: 'rerun', generation, because: says, source });
  }
  if (cover !== undefined) {
    const { run } = cover;
    const standsFor = `run ${run.runId} of ${cover.to.toISOString()} stands for it`;
    if (!isClosedRun(run.state)) return skip(run, `${standsFor} and is ${run.state}`);
    if (run.state === 'succeeded' && reprocess !== 'all') {
      return skip(run, `${standsFor} and succeeded`);
    }
  }
  return withInputs(history, { action: 'create', generation, because: null, source });
}

/** A part of the graph cannot run on a date that has no result of what it stands on. */
function withInputs(history: DateHistory | PartHistory | undefined, plan: DatePlan): DatePlan {
  const missing = history !== undefined && 'missing' in history ? history.missing : [];
  if (missing.length === 0) return plan;
  const because = `no run of this date has a result of ${missing.join(' and ')}`;
  return { action: 'skip', generation: Math.max(0, plan.generation - 1), because, source: null };
}

function skip(run: KnownRun, because: string): DatePlan {
  return { action: 'skip', generation: run.generation, because, source: null };
}

function describeClosed({ runId, state, jobs }: KnownRun): string {
  const ended = state === 'cancelled' ? 'was cancelled' : state;
  return jobs === undefined
    ? `run ${runId} ${ended}`
    : `${jobs.join(', ')} ${ended} in run ${runId}`;
}
