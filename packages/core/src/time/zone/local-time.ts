import type { Zone, ZoneSegment } from './zone.js';

/**
 * Where a local date-time (milliseconds as `Date.UTC` gives them for its fields) falls on the real line. In a gap, `first` is
 * the date-time moved later by the gap's length (the rule that Temporal calls "compatible"), and both are that instant.
 */
export interface ResolvedLocal {
  readonly kind: 'unique' | 'gap' | 'overlap';
  readonly first: number;
  readonly second: number;
}

/** No zone is, or jumps, farther than this from UTC. */
const REACH_MS = 26 * 3_600_000;

/** Finds the instant or instants at which the wall clock of `zone` shows `localMs`. */
export function resolveLocal(zone: Zone, localMs: number): ResolvedLocal {
  const found: number[] = [];
  let gap: ZoneSegment | undefined;
  let segment = zone.segmentAt(localMs - REACH_MS);
  for (;;) {
    const at = localMs - segment.offsetMs;
    if (at >= segment.from && at < segment.to) found.push(at);
    const shifted = localMs - segment.offsetBeforeMs;
    if (shifted >= segment.from && at < segment.from) gap = segment;
    if (segment.to > localMs + REACH_MS) break;
    segment = zone.segmentAt(segment.to);
  }
  if (found.length > 1) return { kind: 'overlap', first: found[0]!, second: found.at(-1)! };
  if (found.length === 1) return { kind: 'unique', first: found[0]!, second: found[0]! };
  const moved = localMs - (gap?.offsetBeforeMs ?? segment.offsetMs);
  return { kind: 'gap', first: moved, second: moved };
}

/** The wall clock of `zone` at an instant, as local milliseconds. */
export function localOf(zone: Zone, instantMs: number): number {
  return instantMs + zone.segmentAt(instantMs).offsetMs;
}

/** `2026-03-08T03:30:00-04:00`: the wall clock of `zone` with its offset; milliseconds only where there are any. */
export function formatLocal(zone: Zone, instantMs: number): string {
  const { offsetMs } = zone.segmentAt(instantMs);
  return `${formatWallClock(instantMs + offsetMs)}${formatOffset(offsetMs)}`;
}

/** `2026-03-08T03:30:00` of local milliseconds. */
export function formatWallClock(localMs: number): string {
  return new Date(localMs)
    .toISOString()
    .replace(/(?:\.000)?Z$/, '')
    .replace(/Z$/, '');
}

/** `-04:00`; with seconds where a zone of long ago had them. */
export function formatOffset(offsetMs: number): string {
  const size = Math.abs(offsetMs) / 1000;
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const seconds = size % 60 === 0 ? '' : `:${two(size % 60)}`;
  return `${offsetMs < 0 ? '-' : '+'}${two(size / 3600)}:${two((size / 60) % 60)}${seconds}`;
}
