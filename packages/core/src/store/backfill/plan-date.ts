import { isClosedRun } from '../../model/states.js';
import type { BackfillRequest, PlannedDate } from '../verbs/backfill-verbs.js';
import type { Cover, DateHistory, KnownRun } from './date-history.js';

type Plan = Pick<PlannedDate, 'action' | 'generation' | 'because'>;

/**
 * What a backfill does with one logical date. Pure.
 *
 * A date whose run is open is always left alone: it is being done. Else `none` leaves every date alone that has a run, or that a
 * coalesced run stood for successfully; `failed` also redoes dates whose latest run failed or was cancelled; `all` redoes
 * every date. A date that was only written down in `fires`, or whose coalesced run failed, has no run: it gets one.
 */
export function planDate(
  history: DateHistory | undefined,
  cover: Cover | undefined,
  reprocess: NonNullable<BackfillRequest['reprocess']>,
): Plan {
  const generation = (history?.generation ?? -1) + 1;
  const latest = history?.latest ?? null;
  if (latest !== null) {
    if (!isClosedRun(latest.state)) return skip(latest, `run ${latest.runId} is ${latest.state}`);
    const says = describeClosed(latest);
    const isRedone =
      reprocess === 'all' || (reprocess === 'failed' && latest.state !== 'succeeded');
    return isRedone ? { action: 'rerun', generation, because: says } : skip(latest, says);
  }
  if (cover !== undefined) {
    const { run } = cover;
    const standsFor = `run ${run.runId} of ${cover.to.toISOString()} stands for it`;
    if (!isClosedRun(run.state)) return skip(run, `${standsFor} and is ${run.state}`);
    if (run.state === 'succeeded' && reprocess !== 'all') {
      return skip(run, `${standsFor} and succeeded`);
    }
  }
  return { action: 'create', generation, because: null };
}

function skip(run: KnownRun, because: string): Plan {
  return { action: 'skip', generation: run.generation, because };
}

function describeClosed(run: KnownRun): string {
  return `run ${run.runId} ${run.state === 'cancelled' ? 'was cancelled' : run.state}`;
}
