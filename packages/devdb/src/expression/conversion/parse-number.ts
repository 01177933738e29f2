import { Decimal128, int32, Long, type Value } from '../../values/value.js';
import { fitsLong } from '../numeric.js';

/** A text as a whole number; undefined where it is none or does not fit. */
function wholeOf(text: string): bigint | undefined {
  return /^[+-]?\d+$/.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined;
}

/** The int that a text stands for. */
export function parseInt32(text: string): Value | undefined {
  const whole = wholeOf(text);
  if (whole === undefined || whole !== BigInt.asIntN(32, whole)) return undefined;
  return int32(Number(whole));
}

/** The long that a text stands for. */
export function parseLong(text: string): Value | undefined {
  const whole = wholeOf(text);
  return whole === undefined || !fitsLong(whole) ? undefined : Long.fromBigInt(whole);
}

const REAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The double that a text stands for; a number out of range is refused. */
export function parseDouble(text: string): Value | undefined {
  const special = /^([+-]?)(inf|infinity|nan)$/i.exec(text);
  if (special) {
    if (special[2]!.toLowerCase() === 'nan') return Number.NaN;
    return special[1] === '-' ? -Infinity : Infinity;
  }
  if (!REAL.test(text)) return undefined;
  const number = Number(text);
  return Number.isFinite(number) ? number : undefined;
}

/** The decimal that a text stands for. */
export function parseDecimal(text: string): Value | undefined {
  if (!REAL.test(text) && !/^[+-]?(inf|infinity|nan)$/i.test(text)) return undefined;
  try {
    return Decimal128.fromStringWithRounding(text);
  } catch {
    return undefined;
  }
}
