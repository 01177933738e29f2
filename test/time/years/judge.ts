/**
 * What must have become of every date, by the words of the design: all that was owed at a moment stands in one list, and a few
 * lines say what each becomes. Knows nothing of batches, cursors or stored decisions.
 */
import type { DagDefinition } from '../../../packages/core/src/model/definition.js';
import { type Calendar, dueOf, firstAfter } from './calendars.ts';
import type { Happening, World } from './world.ts';

export interface Variant {
  readonly calendar: Calendar;
  readonly definition: DagDefinition;
}

export interface Verdict {
  readonly dates: number;
  /** Of these, settled in pieces at different times, since a leader died between two batches: only their account is checked. */
  readonly inPieces: number;
}

type Decided = Extract<Happening, { what: 'decided' }>;

interface Owed {
  readonly at: number;
  readonly age: number;
  readonly graceMs: number;
  readonly isExcluded: boolean;
  readonly span: Decided['spans'][number] | undefined;
}

/** Compares what a world holds with what it must hold, date by date. Throws at the first difference. */
export function judge(dagId: string, world: World, variants: readonly Variant[]): Verdict {
  const fates = new Map<number, string>();
  const pieces = new Set<number>();
  let calendar = variants[0]!.calendar;
  let place = 0;
  const { history } = world;
  const isReached = (at: number, now: number, mode: Decided['mode']) =>
    (mode === 'replace' ? at : dueOf(calendar, dagId, at)) <= now;

  for (let index = 0; index < history.length; index += 1) {
    const happening = history[index]!;
    if (happening.what === 'began') {
      calendar = variants[happening.variant]!.calendar;
      place = firstAfter(calendar.dates, happening.now);
      continue;
    }
    const { now, mode } = happening;
    if (happening.what === 'settled') {
      const next = calendar.dates[place]!;
      if (isReached(next, now, mode)) throw new Error(`${iso(next)} is owed at ${iso(now)}`);
      continue;
    }
    // Batches of one moment are one settlement. Where its leader died before the last of them, later moments go on with it.
    let last = happening;
    for (;;) {
      const next = history[index + 1];
      const isUnfinished = isReached(last.upTo, last.now, last.mode);
      if (next?.what !== 'decided' || !isUnfinished) break;
      last = next;
      index += 1;
    }
    const { definition } = variants[happening.variant]!;
    const owed: Owed[] = [];
    while (isReached(calendar.dates[place]!, last.now, last.mode)) {
      owed.push(owedAt(dagId, calendar, place, happening, definition.misfire.graceMs));
      place += 1;
    }
    if (last.now !== now || last.mode !== mode) for (const { at } of owed) pieces.add(at);
    else {
      const become = mode === 'retire' ? retired(owed) : fatesOf(definition, owed);
      become.forEach((fate, which) => {
        fates.set(owed[which]!.at, fate);
      });
    }
  }
  compare(world, fates, pieces);
  return { dates: fates.size + pieces.size, inPieces: pieces.size };
}

function owedAt(
  dagId: string,
  { dates, excluded, ...calendar }: Calendar,
  place: number,
  { now, mode, spans }: Decided,
  graceMs: number | undefined,
): Owed {
  const at = dates[place]!;
  const dueAt = dueOf({ dates, excluded, ...calendar }, dagId, at);
  const half = (dates[place + 1]! - at) / 2;
  return {
    at,
    age: now - dueAt,
    graceMs:
      graceMs === undefined ? Math.min(60_000, half) : Math.max(graceMs, Math.min(1_000, half)),
    isExcluded: excluded.has(at),
    // A change of schedule and a retirement decide what an open pause has held back so far.
    span: spans.find(
      ({ from, to }) =>
        from.getTime() <= dueAt &&
        (to === null
          ? mode === 'replace' || (mode === 'retire' && dueAt < now)
          : dueAt < to.getTime()),
    ),
  };
}

/** `schedule`, `catch-up n` for a run at this date that stands for n, `folded` for a part of one, or the reason of a line. */
function fatesOf({ misfire, onResume }: DagDefinition, owed: readonly Owed[]): string[] {
  const live = owed.filter((fire) => !fire.isExcluded && fire.span === undefined);
  const late = new Set(live.filter((fire) => fire.age >= fire.graceMs));
  const usable = [...late].filter((fire) => fire.age <= (misfire.windowMs ?? Infinity));
  const granted = new Set(usable.slice(Math.max(0, usable.length - misfire.maxCatchUp)));
  const usableSet = new Set(usable);
  const fateOf = (fire: Owed): string => {
    if (fire.isExcluded) return 'excluded';
    if (fire.span !== undefined) {
      const choice = fire.span.onResume ?? onResume;
      const newest = owed.findLast((other) => other.span === fire.span && !other.isExcluded);
      return choice === 'all' || (choice === 'latest' && newest === fire) ? 'catch-up 1' : 'paused';
    }
    switch (misfire.policy) {
      case 'coalesce':
        if (late.size === 0) return 'schedule';
        return live.at(-1) === fire ? `catch-up ${live.length}` : 'folded';
      case 'skip':
        return !late.has(fire) && live.at(-1) === fire ? 'schedule' : 'skipped';
      case 'catch-up':
        if (!late.has(fire)) return 'schedule';
        if (!usableSet.has(fire)) return 'expired';
        return granted.has(fire) ? 'catch-up 1' : 'capped';
    }
  };
  return owed.map(fateOf);
}

function retired(owed: readonly Owed[]): string[] {
  return owed.map((fire) => {
    if (fire.isExcluded) return 'excluded';
    return fire.span === undefined ? 'skipped' : 'paused';
  });
}

function compare(
  { runs, lines }: World,
  fates: ReadonlyMap<number, string>,
  pieces: ReadonlySet<number>,
): void {
  const spans = [...lines.values()].filter(({ count }) => count > 1);
  let accounted = 0;
  for (const [at, { coalesced }] of runs) {
    accounted += coalesced;
    if (!fates.has(at) && !pieces.has(at))
      throw new Error(`a run at ${iso(at)}, which was not due`);
  }
  for (const [at, { count }] of lines) {
    accounted += count;
    if (!fates.has(at) && !pieces.has(at)) throw new Error(`a line at ${iso(at)}, not due`);
    if (runs.has(at)) throw new Error(`a run and a line at ${iso(at)}`);
  }
  if (accounted !== fates.size + pieces.size) {
    throw new Error(`${fates.size + pieces.size} dates were due, ${accounted} are accounted for`);
  }
  for (const [at, fate] of fates) {
    const run = runs.get(at);
    const line =
      lines.get(at) ?? spans.find(({ from, to }) => from.getTime() <= at && at <= to.getTime());
    const found =
      run !== undefined
        ? run.cause === 'schedule'
          ? 'schedule'
          : `catch-up ${run.coalesced}`
        : (line?.reason ?? 'folded');
    if (found !== fate) throw new Error(`${iso(at)} became ${found}, expected ${fate}`);
  }
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
