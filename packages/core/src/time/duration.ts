import { OptionError } from '../errors.js';

const UNITS = [
  ['w', 604_800_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;

const EXPECTED = "a duration such as '250ms', '30s', '5m', '1h30m', '2d' or 'PT5M'";

/** The longest duration that is accepted: 36,500 days. Any instant plus it is still a valid Date. */
export const MAX_DURATION_MS = 36_500 * 86_400_000;

export interface DurationLimits {
  /** The smallest value that is accepted, in milliseconds. Default 0. */
  readonly minMs?: number;
  /** The largest value that is accepted, in milliseconds. Default {@link MAX_DURATION_MS}. */
  readonly maxMs?: number;
}

/**
 * Milliseconds of a duration text: whole numbers with the units `w d h m s ms`, largest first, each at most once
 * (`'1h30m'`), or an ISO 8601 duration without years and months (`'PT5M'`, `'P1DT12H'`).
 *
 * A day is 24 hours here, whatever the zone does. Throws OptionError naming `field` for anything else: bare numbers,
 * fractions, signs, blanks, values outside `limits`.
 */
export function parseDuration(
  text: unknown,
  field = 'duration',
  limits: DurationLimits = {},
): number {
  if (typeof text === 'number' && Number.isFinite(text) && text >= 0) {
    throw new OptionError(field, EXPECTED, text, {
      hint: `A bare number has no unit. Write '${text}ms' or '${text}s'.`,
    });
  }
  if (typeof text !== 'string') throw new OptionError(field, EXPECTED, text);
  const ms = text.startsWith('P') ? parseIso(text, field) : parseUnits(text, field);
  const minMs = limits.minMs ?? 0;
  const maxMs = limits.maxMs ?? MAX_DURATION_MS;
  if (ms < minMs) throw new OptionError(field, `at least ${formatDuration(minMs)}`, text);
  if (!(ms <= maxMs)) throw new OptionError(field, `at most ${formatDuration(maxMs)}`, text);
  return ms;
}

/**
 * The shortest text that {@link parseDuration} reads back as `ms`, with the units `d h m s ms` (`90_000` is `'1m30s'`).
 * `ms` is a whole number of milliseconds, 0 or more; a fraction is rounded.
 */
export function formatDuration(ms: number): string {
  let rest = Math.max(0, Math.round(ms));
  let text = '';
  for (const [unit, size] of UNITS) {
    if (unit === 'w') continue;
    const amount = Math.floor(rest / size);
    if (amount > 0) text += `${amount}${unit}`;
    rest -= amount * size;
  }
  return text === '' ? '0ms' : text;
}

function parseUnits(text: string, field: string): number {
  const pieces = [...text.matchAll(/(\d+)(ms|[wdhms])/g)];
  if (pieces.length === 0 || pieces.map(([piece]) => piece).join('') !== text) {
    throw new OptionError(field, EXPECTED, text, hintFor(text));
  }
  let total = 0;
  let last = -1;
  for (const [, digits, unit] of pieces) {
    const index = UNITS.findIndex(([name]) => name === unit);
    if (index <= last) {
      throw new OptionError(field, EXPECTED, text, {
        hint: 'Write each unit once, the largest first.',
      });
    }
    last = index;
    total += Number(digits) * UNITS[index]![1];
  }
  return total;
}

function parseIso(text: string, field: string): number {
  const match =
    /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3}))?S)?)?$/.exec(
      text,
    );
  if (match === null || text === 'P') {
    const calendar = /^P[^T]*[YM]/.test(text);
    throw new OptionError(
      field,
      EXPECTED,
      text,
      calendar ? { hint: 'Years and months have no fixed length: write days.' } : {},
    );
  }
  const [, weeks, days, hours, minutes, seconds, fraction] = match;
  const amounts = [weeks, days, hours, minutes, seconds, (fraction ?? '').padEnd(3, '0')];
  return amounts.reduce((sum, amount, index) => sum + Number(amount ?? 0) * UNITS[index]![1], 0);
}

function hintFor(text: string): { hint: string } | Record<string, never> {
  if (/^\d+$/.test(text)) return { hint: `Add a unit: '${text}s', '${text}ms'.` };
  if (/\d\.\d/.test(text)) {
    return { hint: "Fractions are not accepted: write '1h30m' instead of '1.5h'." };
  }
  if (/\s/.test(text.trim())) return { hint: "Write it without blanks: '1h30m'." };
  if (text.startsWith('-')) return { hint: 'A duration is never negative.' };
  return {};
}
