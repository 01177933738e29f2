/**
 * What to do with the fires of a DAG that have come due: the whole of misfire and pause policy, as one pure function.
 *
 * Authority: the leader calls it with the stored cursor and the database's now, stores the answer as `pending`, carries it out,
 * and moves the cursor. Whoever finds a `pending` finishes it as it stands, so the function may answer otherwise a second later.
 *
 * Batches: at most `limit` fires are decided in one call. What cannot be decided within a batch travels in `carry`: a coalesced
 * run that still grows, how many catch-up runs were granted, and a span of lines that is not closed. `carry` is stored in the
 * same write that moves the cursor, so a leader that dies between two batches loses nothing. With `now` held still, the batches
 * together give exactly the answer of one large batch.
 *
 * Each fire ends in exactly one place: a run of its own, the `coalesced` of a run, or a line.
 */

import { DecisionDraft } from './decision-draft.js';
import type { DueFire } from './due-fires.js';
import type { DecideFiresInput, FireDecision } from './fire-decision.js';
import { OwedFires } from './owed-fires.js';

export type {
  DecidedRun,
  DecideFiresInput,
  FireCarry,
  FireDecision,
  MisfireRules,
} from './fire-decision.js';

const BATCH_LIMIT = 1_000;

/**
 * Decides about the due fires from the cursor on, at most `limit` of them. Nothing is due: no runs, no lines, the cursor stays.
 * Throws OptionError when the schedule cannot be evaluated (mark the DAG broken and go on).
 */
export function decideFires(input: DecideFiresInput): FireDecision {
  const owed = new OwedFires(input);
  const { due, next } = takeBatch(owed, input.limit ?? BATCH_LIMIT);
  const draft = new DecisionDraft(input);
  const decide = policyOf(input, owed, draft);
  for (const fire of due) {
    if (fire.isExcluded) draft.line(fire, 'excluded');
    else if (input.instead !== undefined) draft.line(fire, input.instead);
    else if (!decidePaused(fire, input, owed, draft)) decide(fire);
    draft.pass(fire);
  }
  const hasMore = next !== undefined && owed.isOwed(next);
  if (!hasMore) {
    draft.unfold();
    draft.lines.close();
  }
  return {
    runs: draft.runs,
    fires: draft.lines.closed,
    nextFireAt: next === undefined ? null : new Date(next.at),
    nextJitterMs: next === undefined ? 0 : next.dueAt - next.at,
    carry: hasMore ? draft.carry() : null,
    hasMore,
    isPaused: next !== undefined && owed.isHeld(next),
  };
}

/** The due fires of this batch, and the fire after them. */
function takeBatch(owed: OwedFires, limit: number): { due: DueFire[]; next: DueFire | undefined } {
  const due: DueFire[] = [];
  for (const fire of owed.fromCursor()) {
    if (due.length >= limit || !owed.isOwed(fire)) return { due, next: fire };
    due.push(fire);
  }
  return { due, next: undefined };
}

/** Fires that came due inside a span that is over, or ends with the schedule. Their age does not matter: a pause is no misfire. */
function decidePaused(
  fire: DueFire,
  input: DecideFiresInput,
  owed: OwedFires,
  draft: DecisionDraft,
): boolean {
  const span = owed.pauseOf(fire);
  if (span === undefined) return false;
  const onResume = span.onResume ?? input.onResume ?? 'skip';
  const isRun =
    onResume === 'all' || (onResume === 'latest' && owed.newestInside(span) === fire.at);
  // Nobody expected it before the pause was over.
  if (isRun) draft.makeUp(fire, span.to ?? input.now);
  else draft.line(fire, 'paused');
  return true;
}

/** One function for each policy: what becomes of a due fire that is neither excluded nor paused. */
function policyOf(
  input: DecideFiresInput,
  owed: OwedFires,
  draft: DecisionDraft,
): (fire: DueFire) => void {
  switch (input.misfire.policy) {
    case 'coalesce':
      return (fire) => {
        // Misfires come first, so what follows one is folded in, whatever its age, up to the newest.
        if (!draft.isFolding && !owed.isMisfire(fire)) return draft.run(fire);
        draft.fold(fire);
        if (owed.newest() === fire.at) draft.unfold();
      };
    case 'skip':
      return (fire) => {
        if (!owed.isMisfire(fire) && owed.newest() === fire.at) draft.run(fire);
        else draft.line(fire, 'skipped');
      };
    case 'catch-up': {
      // Fixed for the batch: which misfires are among the newest that may still run.
      let runsFrom: number | undefined;
      return (fire) => {
        if (!owed.isMisfire(fire)) return draft.run(fire);
        if (owed.isExpired(fire)) return draft.line(fire, 'expired');
        runsFrom ??= owed.catchUpFrom(input.misfire.maxCatchUp - draft.caughtUp);
        if (fire.at >= runsFrom) draft.catchUp(fire);
        else draft.line(fire, 'capped');
      };
    }
  }
}
