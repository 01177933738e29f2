/**
 * A DAG in memory: the state machine of the store (decide-pending.ts, schedule-state.ts) on a plain object, with a clock by hand and
 * deaths between any two steps. What the store writes under unique keys is a map here: the first write stands.
 */
import type { DagDefinition } from '../../../packages/core/src/model/definition.js';
import {
  hasSameSchedule,
  hasSameScheduling,
} from '../../../packages/core/src/store/deploy/dag-change.js';
import { cursorAfter } from '../../../packages/core/src/store/schedule/dag-cursor.js';
import { decidePending } from '../../../packages/core/src/store/schedule/decide-pending.js';
import type {
  DecidedLine,
  DecidedRun,
  PendingDecision,
  SettleMode,
} from '../../../packages/core/src/store/schedule/pending-decision.js';
import {
  afterPause,
  afterPending,
  afterReplace,
  afterResume,
  afterRetire,
  hasMore,
  isForDeciding,
  mayPause,
  mayReplace,
  mayResume,
  mayRetire,
  modeBeforeReplace,
  type ScheduleState,
} from '../../../packages/core/src/store/schedule/schedule-state.js';

export class Killed extends Error {}

/** What the judge is told: when decisions were made, what was in force then and how far they went, not what they say. */
export type Happening =
  | {
      readonly what: 'decided';
      readonly now: number;
      readonly mode: SettleMode;
      readonly variant: number;
      readonly spans: ScheduleState['pausedSpans'];
      /** The first date that it leaves to a later decision. */
      readonly upTo: number;
    }
  /** A schedule begins: it owes the dates after `now`. */
  | { readonly what: 'began'; readonly now: number; readonly variant: number }
  /** Nothing that `mode` covers may be left undecided. */
  | { readonly what: 'settled'; readonly now: number; readonly mode: SettleMode };

export class World {
  readonly runs = new Map<number, Pick<DecidedRun, 'cause' | 'coalesced'>>();
  readonly lines = new Map<number, DecidedLine>();
  readonly history: Happening[] = [];
  /** Steps until the process dies. */
  left = Number.POSITIVE_INFINITY;
  readonly #definitions: (variant: number) => DagDefinition;
  readonly #state: ScheduleState;
  #variant: number;

  constructor(definitions: (variant: number) => DagDefinition, variant: number, now: number) {
    this.#definitions = definitions;
    this.#variant = variant;
    const definition = definitions(variant);
    this.#state = {
      _id: definition.id,
      version: String(variant),
      state: 'active',
      ...cursorAfter(definition.id, definition.schedule, new Date(now)),
      scheduleRev: 1,
      pending: null,
      carry: null,
      pausedAt: null,
      pausedSpans: [],
      broken: null,
    };
    this.history.push({ what: 'began', now, variant });
  }

  get state(): Readonly<ScheduleState> {
    return this.#state;
  }

  /** When a leader has to look next: at once for a decision that somebody left, else when the cursor is due. */
  get wakeAt(): number {
    const { pending, nextFireAt, nextJitterMs, pausedAt, state } = this.#state;
    if (pending !== null) return 0;
    if (nextFireAt === null || pausedAt !== null || state !== 'active') {
      return Number.POSITIVE_INFINITY;
    }
    return nextFireAt.getTime() + nextJitterMs;
  }

  settle(now: number, mode: SettleMode = 'due'): void {
    while (this.#settleBatch(new Date(now), mode));
    // A retired schedule owes nothing, and what a pause holds back is not due.
    if (this.#state.state === 'retired') return;
    if (mode !== 'due' || this.#state.pausedAt === null) {
      this.history.push({ what: 'settled', now, mode });
    }
  }

  pause(now: number): void {
    this.settle(now);
    if (this.#state.pausedAt !== null) return;
    if (!mayPause(this.#state, new Date(now))) throw new Error('settled, and may not pause');
    this.#become(afterPause(this.#state, new Date(now)));
  }

  resume(now: number, onResume: 'skip' | 'latest' | 'all' | null): void {
    this.settle(now);
    if (!mayResume(this.#state)) return;
    this.#become(afterResume(this.#state, new Date(now), onResume));
  }

  retire(now: number): void {
    if (this.#state.state === 'retired') return;
    this.settle(now, 'retire');
    if (!mayRetire(this.#state, new Date(now))) throw new Error('settled, and may not retire');
    this.#become(afterRetire(this.#state));
  }

  deploy(variant: number, now: number): void {
    const [old, definition] = [this.#definitions(this.#variant), this.#definitions(variant)];
    if (this.#state.state === 'retired') {
      this.#begin(variant, now);
      return;
    }
    if (hasSameScheduling(old, definition)) {
      if (this.#state.pending !== null) this.settle(now);
      this.#variant = variant;
      this.#become({ version: String(variant) });
      return;
    }
    const keepsCursor = hasSameSchedule(old, definition);
    this.settle(now, modeBeforeReplace(this.#state, keepsCursor));
    if (!mayReplace(this.#state, new Date(now), keepsCursor)) {
      throw new Error('settled, and may not be replaced');
    }
    if (!keepsCursor) {
      this.#begin(variant, now);
      return;
    }
    this.#variant = variant;
    this.#become({ ...afterReplace(this.#state, this.#state), version: String(variant) });
  }

  #begin(variant: number, now: number): void {
    const { id, schedule } = this.#definitions(variant);
    this.#become({
      ...afterReplace(this.#state, cursorAfter(id, schedule, new Date(now))),
      version: String(variant),
    });
    this.#variant = variant;
    this.history.push({ what: 'began', now, variant });
  }

  #settleBatch(now: Date, mode: SettleMode): boolean {
    this.#step();
    const { pending } = this.#state;
    if (pending !== null) return this.#carryOut(pending, now, mode);
    if (!isForDeciding(this.#state, now, mode)) return false;
    const decided = decidePending(this.#state, this.#definitions(this.#variant), now, mode);
    if (decided.broken !== null) throw new Error(decided.broken);
    this.#become({ pending: decided });
    this.history.push({
      what: 'decided',
      now: now.getTime(),
      mode,
      variant: this.#variant,
      spans: this.#state.pausedSpans,
      upTo: decided.next?.getTime() ?? Number.POSITIVE_INFINITY,
    });
    return this.#carryOut(decided, now, mode);
  }

  #carryOut(pending: PendingDecision, now: Date, mode: SettleMode): boolean {
    for (const run of pending.runs) {
      this.#step();
      const at = run.logicalDate.getTime();
      const { cause, coalesced } = run;
      if (!this.runs.has(at)) this.runs.set(at, { cause, coalesced });
    }
    for (const line of pending.lines) {
      this.#step();
      const at = line.from.getTime();
      if (!this.lines.has(at)) this.lines.set(at, line);
    }
    this.#become(afterPending(this.#state, pending));
    return hasMore(pending, now, mode);
  }

  #become(change: Partial<ScheduleState>): void {
    this.#step();
    Object.assign(this.#state, change);
  }

  #step(): void {
    if (this.left <= 0) throw new Killed();
    this.left -= 1;
  }
}
