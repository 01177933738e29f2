import { rulesOf, type ScheduleRules } from '../schedule/schedule.js';
import { type DueFire, dueFiresBack, dueFiresFrom, graceMsOf } from './due-fires.js';
import type { DecideFiresInput } from './fire-decision.js';
import { openPauseFrom, type PausedSpan, pauseAt } from './paused-spans.js';

/**
 * Questions about everything that is owed at `now`, beyond the batch at hand: they are answered by walking back from now, so
 * that the cost does not grow with the length of the outage.
 */
export class OwedFires {
  readonly #input: DecideFiresInput;
  readonly #rules: ScheduleRules;
  readonly #now: number;
  readonly #spans: readonly PausedSpan[];
  /** Fires due from here on wait for a resume. */
  readonly #pauseFrom: number;
  readonly #newestOfSpan = new Map<PausedSpan, number | undefined>();
  #newest: { readonly at: number | undefined } | undefined;

  constructor(input: DecideFiresInput) {
    this.#input = input;
    this.#rules = rulesOf(input.schedule);
    this.#now = input.now.getTime();
    this.#spans = input.pausedSpans ?? [];
    this.#pauseFrom = input.isEnding ? Number.POSITIVE_INFINITY : openPauseFrom(this.#spans);
  }

  /** Calendar fires from the cursor on, due or not. */
  fromCursor(): Generator<DueFire> {
    return dueFiresFrom(this.#rules, this.#input.dagId, this.#input.nextFireAt.getTime());
  }

  /** True when the fire is to be decided: it is due, or the schedule ends and its date has come, and no open pause holds it. */
  isOwed(fire: DueFire): boolean {
    const from = this.#input.isEnding ? fire.at : fire.dueAt;
    return from <= this.#now && fire.dueAt < this.#pauseFrom;
  }

  isHeld(fire: DueFire): boolean {
    return fire.dueAt >= this.#pauseFrom;
  }

  pauseOf(fire: DueFire): PausedSpan | undefined {
    return pauseAt(this.#spans, fire.dueAt);
  }

  isMisfire(fire: DueFire): boolean {
    return this.#now - fire.dueAt >= graceMsOf(fire, this.#input.misfire.graceMs);
  }

  isExpired(fire: DueFire): boolean {
    const { windowMs } = this.#input.misfire;
    return windowMs !== undefined && this.#now - fire.dueAt > windowMs;
  }

  /** The logical date of the newest owed fire that is neither excluded nor inside a pause. */
  newest(): number | undefined {
    if (this.#newest === undefined) {
      const [fire] = this.#back();
      this.#newest = { at: fire?.at };
    }
    return this.#newest.at;
  }

  /** The logical date from which on misfires run when only the `count` newest of them may; Infinity for none. */
  catchUpFrom(count: number): number {
    let oldest = Number.POSITIVE_INFINITY;
    let counted = 0;
    if (count <= 0) return oldest;
    for (const fire of this.#back()) {
      if (!this.isMisfire(fire)) continue;
      if (this.isExpired(fire)) break;
      oldest = fire.at;
      counted += 1;
      if (counted >= count) break;
    }
    return oldest;
  }

  /** The logical date of the newest owed fire that came due inside a span. */
  newestInside(span: PausedSpan): number | undefined {
    if (!this.#newestOfSpan.has(span)) this.#newestOfSpan.set(span, this.#findInside(span));
    return this.#newestOfSpan.get(span);
  }

  #findInside(span: PausedSpan): number | undefined {
    const from = span.from.getTime();
    const to = span.to?.getTime() ?? Number.POSITIVE_INFINITY;
    for (const fire of dueFiresBack(this.#rules, this.#input.dagId, Math.min(to - 1, this.#now))) {
      if (fire.dueAt < from) return undefined;
      if (fire.dueAt < to && this.isOwed(fire) && !fire.isExcluded) return fire.at;
    }
    return undefined;
  }

  /** Owed fires down to the cursor, newest first, without the excluded and the paused ones. */
  *#back(): Generator<DueFire> {
    const cursor = this.#input.nextFireAt.getTime();
    let until: number | undefined = Math.min(this.#now, this.#pauseFrom - 1);
    while (until !== undefined) {
      const start: number = until;
      until = undefined;
      for (const fire of dueFiresBack(this.#rules, this.#input.dagId, start)) {
        if (fire.at < cursor) return;
        if (!this.isOwed(fire) || fire.isExcluded) continue;
        const span = this.pauseOf(fire);
        if (span !== undefined) {
          // A pause may be long: go on before it instead of walking through.
          until = Math.min(fire.at, span.from.getTime()) - 1;
          break;
        }
        yield fire;
      }
    }
  }
}
