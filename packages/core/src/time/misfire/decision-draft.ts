import { type DataInterval, dataIntervalOf } from '../schedule/fires.js';
import type { DueFire } from './due-fires.js';
import type { DecidedRun, DecideFiresInput, FireCarry } from './fire-decision.js';
import { FireLines, type UnrunReason } from './fire-lines.js';

/** The answer of one batch while it is being written, fire by fire, oldest first. */
export class DecisionDraft {
  readonly runs: DecidedRun[] = [];
  readonly lines: FireLines;
  readonly #input: DecideFiresInput;
  #folding: FireCarry['folding'];
  #caughtUp: number;
  #lastStartAt: Date | null;
  /** The fire before the one at hand that is not excluded: where a data interval begins. Undefined before the first. */
  #previousAt: Date | undefined;

  constructor(input: DecideFiresInput) {
    const { carry } = input;
    this.#input = input;
    this.lines = new FireLines(carry?.line ?? null);
    this.#folding = carry?.folding ?? null;
    this.#caughtUp = carry?.caughtUp ?? 0;
    this.#lastStartAt = carry?.lastStartAt ?? null;
  }

  /** Misfires that were given a catch-up run since the cursor last stood at rest. */
  get caughtUp(): number {
    return this.#caughtUp;
  }

  get isFolding(): boolean {
    return this.#folding !== null;
  }

  /** Called once for each fire after it was decided, so that the next one's data interval begins at it. */
  pass(fire: DueFire): void {
    if (!fire.isExcluded) this.#previousAt = new Date(fire.at);
  }

  /** The fire gets no run of its own. */
  line(fire: DueFire, reason: UnrunReason): void {
    this.lines.add(fire.at, reason);
  }

  /** An ordinary run. */
  run(fire: DueFire): void {
    this.#add(this.#intervalOf(fire), 'schedule', 1, new Date(fire.dueAt), null);
  }

  /** A run that makes up for a misfire alone, under `maxCatchUp`. */
  catchUp(fire: DueFire): void {
    this.#caughtUp += 1;
    this.makeUp(fire);
  }

  /** A run that makes up for the fire alone, which was due at `dueAt` or else by itself. */
  makeUp(fire: DueFire, dueAt = new Date(fire.dueAt)): void {
    const { now, misfire } = this.#input;
    let notBefore: Date | null = null;
    if (misfire.spacingMs !== undefined && misfire.spacingMs > 0) {
      if (this.#lastStartAt !== null) {
        const at = Math.max(this.#lastStartAt.getTime() + misfire.spacingMs, now.getTime());
        notBefore = new Date(at);
      }
      this.#lastStartAt = notBefore ?? now;
    }
    this.#add(this.#intervalOf(fire), 'catch-up', 1, dueAt, notBefore);
  }

  /** The fire becomes a part of the coalesced run, which stands at the newest fire folded in. */
  fold(fire: DueFire): void {
    // Lines on both sides of it are not consecutive.
    this.lines.close();
    this.#folding = {
      from: this.#folding?.from ?? this.#intervalOf(fire).from,
      dueAt: this.#folding?.dueAt ?? new Date(fire.dueAt),
      newest: new Date(fire.at),
      count: (this.#folding?.count ?? 0) + 1,
    };
  }

  /** Makes the coalesced run of what was folded so far, if anything was. */
  unfold(): void {
    const folding = this.#folding;
    if (folding === null) return;
    this.#folding = null;
    const interval = { from: folding.from, to: folding.newest };
    this.#add(interval, 'catch-up', folding.count, folding.dueAt, null);
  }

  /** What the next batch needs. */
  carry(): FireCarry {
    return {
      folding: this.#folding,
      caughtUp: this.#caughtUp,
      lastStartAt: this.#lastStartAt,
      line: this.lines.open,
    };
  }

  #add(
    dataInterval: DataInterval,
    cause: DecidedRun['cause'],
    coalesced: number,
    dueAt: Date,
    notBefore: Date | null,
  ): void {
    this.lines.close();
    const logicalDate = dataInterval.to;
    this.runs.push({ logicalDate, dataInterval, cause, coalesced, dueAt, notBefore });
  }

  #intervalOf(fire: DueFire): DataInterval {
    const to = new Date(fire.at);
    if (this.#previousAt === undefined) return dataIntervalOf(this.#input.schedule, to);
    return { from: this.#previousAt, to };
  }
}
