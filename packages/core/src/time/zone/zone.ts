import { Temporal } from 'temporal-polyfill';
import { didYouMean } from '../did-you-mean.js';

/**
 * A stretch of time in which a zone keeps one offset. Instants are epoch milliseconds, offsets milliseconds east of UTC.
 * `from` is included, `to` is not; the first and the last segment of a zone are infinite.
 */
export interface ZoneSegment {
  readonly from: number;
  readonly to: number;
  readonly offsetMs: number;
  /** The offset just before `from`; equal to `offsetMs` in the first segment. */
  readonly offsetBeforeMs: number;
  /** The offset at `to`; equal to `offsetMs` in the last segment. */
  readonly offsetAfterMs: number;
}

/** The rules of one IANA zone, looked up when first needed and then kept. */
export interface Zone {
  readonly timeZone: string;
  /** The segment that holds the instant. */
  segmentAt(instantMs: number): ZoneSegment;
}

const zones = new Map<string, Zone>();

/**
 * The rules of a zone, from the Temporal polyfill (which reads the host's ICU data, never the host's own zone).
 * Throws RangeError for a name that {@link timeZoneProblem} refuses.
 */
export function zoneOf(timeZone: string): Zone {
  let zone = zones.get(timeZone);
  if (zone === undefined) {
    zone = loadZone(timeZone);
    zones.set(timeZone, zone);
  }
  return zone;
}

/** Why a time zone cannot be used and what to write instead; undefined when it can. */
export function timeZoneProblem(
  timeZone: unknown,
): { message: string; hint: string | undefined } | undefined {
  if (typeof timeZone !== 'string' || timeZone.trim() === '') {
    return {
      message: 'expected an IANA time zone name',
      hint: "Write a name such as 'Europe/Paris', or leave it out for UTC.",
    };
  }
  if (/^[+-]?\d|^(?:UTC|GMT)[+-]\d/i.test(timeZone)) {
    return {
      message: `"${timeZone}" is an offset, not an IANA time zone`,
      hint: "An offset knows no daylight saving. Write 'Europe/Paris', or 'Etc/GMT-1' if a fixed offset is meant (its sign is reversed: one hour east).",
    };
  }
  // ICU takes any letter case and a few old abbreviations (PST); other programs that read the same definition may not.
  const looksIanaLike =
    /[A-Z]/.test(timeZone) && !/^(?:[ACEMP][SD]T|JST|IST|CST|CTT)$/.test(timeZone);
  const legacyIana = /^(?:EST|MST)$/.test(timeZone);
  if (!isKnown(timeZone) || !(looksIanaLike || legacyIana)) {
    const near = didYouMean(timeZone, ['UTC', ...Intl.supportedValuesOf('timeZone')]);
    return {
      message: `"${timeZone}" is not a known IANA time zone`,
      hint:
        near === undefined
          ? "Write a name such as 'Europe/Paris' or 'UTC'."
          : `Did you mean '${near}'?`,
    };
  }
  return undefined;
}

function isKnown(timeZone: string): boolean {
  if (zones.has(timeZone)) return true;
  try {
    zoneOf(timeZone);
    return true;
  } catch {
    return false;
  }
}

function loadZone(timeZone: string): Zone {
  // Sorted by `from`; a year of minutes stays in one segment, so the last hit is tried first.
  const segments: ZoneSegment[] = [];
  let last = loadSegment(timeZone, 0);
  segments.push(last);

  function segmentAt(instantMs: number): ZoneSegment {
    if (instantMs >= last.from && instantMs < last.to) return last;
    let low = 0;
    let high = segments.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (segments[middle]!.from <= instantMs) low = middle + 1;
      else high = middle;
    }
    const found = segments[low - 1];
    if (found !== undefined && instantMs < found.to) {
      last = found;
    } else {
      last = loadSegment(timeZone, instantMs);
      segments.splice(low, 0, last);
    }
    return last;
  }

  return { timeZone, segmentAt };
}

function loadSegment(timeZone: string, instantMs: number): ZoneSegment {
  const at = zoned(timeZone, Math.floor(instantMs));
  // "previous" is strictly earlier, and a transition at the very instant opens its segment.
  const from = zoned(timeZone, Math.floor(instantMs) + 1).getTimeZoneTransition('previous');
  const to = at.getTimeZoneTransition('next');
  const offsetMs = offsetOf(at);
  return {
    from: from === null ? Number.NEGATIVE_INFINITY : from.epochMilliseconds,
    to: to === null ? Number.POSITIVE_INFINITY : to.epochMilliseconds,
    offsetMs,
    offsetBeforeMs:
      from === null ? offsetMs : offsetOf(zoned(timeZone, from.epochMilliseconds - 1)),
    offsetAfterMs: to === null ? offsetMs : offsetOf(to),
  };
}

function zoned(timeZone: string, instantMs: number): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(instantMs).toZonedDateTimeISO(timeZone);
}

function offsetOf(at: Temporal.ZonedDateTime): number {
  return at.offsetNanoseconds / 1e6;
}
