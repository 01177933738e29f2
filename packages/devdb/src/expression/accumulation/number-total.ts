import { toDecimalParts } from '../../values/arithmetic.js';
import {
  addDecimals,
  type DecimalParts,
  decimalFromParts,
  decimalOfBigInt,
  divideDecimals,
} from '../../values/decimal.js';
import { toDouble } from '../../values/numbers.js';
import { type Decimal128, Int32, int32, Long, type Numeric } from '../../values/value.js';
import { fitsLong, Width, wider, widthOf } from '../numeric.js';

const ZERO = decimalOfBigInt(0n);

/**
 * A running sum whose type is the widest one added: ints grow to longs, longs to doubles. Whole
 * numbers are summed exactly, doubles with compensation (Neumaier), so that 0.1 + 0.2 + 0.3 is 0.6.
 */
export class NumberTotal {
  private width: Width = Width.int;
  private small = 0;
  private whole = 0n;
  private real = 0;
  private lost = 0;
  private decimals: DecimalParts = ZERO;

  add(value: Numeric): void {
    if (value instanceof Int32) {
      this.small += value.value;
      if (!Number.isSafeInteger(this.small)) this.spill();
      return;
    }
    const width = widthOf(value);
    this.width = wider(this.width, width);
    if (width === Width.double) this.addReal(value as number);
    else if (width === Width.long) this.whole += (value as Long).toBigInt();
    else this.decimals = addDecimals(this.decimals, toDecimalParts(value));
  }

  /** Adds whole milliseconds without making the total any wider. */
  addWhole(value: number): void {
    this.whole += BigInt(value);
  }

  private spill(): void {
    this.whole += BigInt(this.small);
    this.small = 0;
  }

  private addReal(value: number): void {
    const sum = this.real + value;
    // Infinity minus itself would make the compensation NaN.
    if (Number.isFinite(sum)) {
      this.lost +=
        Math.abs(this.real) >= Math.abs(value) ? this.real - sum + value : value - sum + this.real;
    }
    this.real = sum;
  }

  /** Whether a decimal was added. */
  get isDecimal(): boolean {
    return this.width === Width.decimal;
  }

  /** The sum as the nearest double, without the decimals. */
  toDouble(): number {
    this.spill();
    if (this.whole === 0n) return this.real + this.lost;
    const whole = Number(this.whole);
    const rest = Number(this.whole - BigInt(Number.isFinite(whole) ? whole : 0));
    const total = new NumberTotal();
    for (const part of [this.real, this.lost, whole, rest]) total.addReal(part);
    return total.real + total.lost;
  }

  /** The sum as a decimal. */
  toDecimal(): DecimalParts {
    this.spill();
    let total = this.decimals;
    if (this.whole !== 0n) total = addDecimals(total, decimalOfBigInt(this.whole));
    const real = this.real + this.lost;
    return real === 0 ? total : addDecimals(total, toDecimalParts(real));
  }

  /** The sum in its own type. */
  result(): Numeric {
    if (this.width === Width.decimal) return decimalFromParts(this.toDecimal());
    if (this.width === Width.double) return this.toDouble();
    this.spill();
    if (!fitsLong(this.whole)) return Number(this.whole);
    const isInt = this.width === Width.int && this.whole === BigInt.asIntN(32, this.whole);
    return isInt ? int32(Number(this.whole)) : Long.fromBigInt(this.whole);
  }

  /** The sum divided by a count: a decimal if one was added, else a double. */
  mean(count: number): number | Decimal128 {
    if (!this.isDecimal) return this.toDouble() / count;
    return decimalFromParts(divideDecimals(this.toDecimal(), toDecimalParts(int32(count))));
  }
}

/**
 * A running standard deviation (Welford's method), over doubles. `sample` divides by n - 1; null
 * where there are too few numbers.
 */
export class Deviation {
  private count = 0;
  private mean = 0;
  private squares = 0;

  constructor(private readonly sample: boolean) {}

  add(value: Numeric): void {
    const number = toDouble(value);
    this.count += 1;
    const delta = number - this.mean;
    this.mean += delta / this.count;
    this.squares += delta * (number - this.mean);
  }

  result(): number | null {
    const divisor = this.sample ? this.count - 1 : this.count;
    return divisor <= 0 ? null : Math.sqrt(this.squares / divisor);
  }
}
