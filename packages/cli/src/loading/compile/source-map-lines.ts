/**
 * The `mappings` of a source map (version 3) as numbers and back: one list per generated line, of segments
 * `[generated column, source, source line, source column, name]`, all absolute and from 0.
 */
export type Segment = number[];

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const bitsOf = new Map([...digits].map((digit, value) => [digit, value]));

export function decodeMappings(mappings: string): Segment[][] {
  const last = [0, 0, 0, 0, 0];
  return mappings.split(';').map((line) => {
    last[0] = 0;
    if (line === '') return [];
    return line.split(',').map((segment) =>
      decodeNumbers(segment).map((delta, field) => {
        last[field] = (last[field] ?? 0) + delta;
        return last[field];
      }),
    );
  });
}

export function encodeMappings(lines: readonly (readonly Segment[])[]): string {
  const last = [0, 0, 0, 0, 0];
  return lines
    .map((line) => {
      last[0] = 0;
      return line
        .map((segment) =>
          segment
            .map((value, field) => {
              const delta = value - (last[field] ?? 0);
              last[field] = value;
              return encodeNumber(delta);
            })
            .join(''),
        )
        .join(',');
    })
    .join(';');
}

/** Base 64 digits of five bits each, lowest first; the sixth bit says "more", the lowest bit of all is the sign. */
function decodeNumbers(text: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const digit of text) {
    const bits = bitsOf.get(digit) ?? 0;
    value += (bits & 31) << shift;
    shift += 5;
    if ((bits & 32) !== 0) continue;
    numbers.push((value & 1) === 1 ? -(value >> 1) : value >> 1);
    value = 0;
    shift = 0;
  }
  return numbers;
}

function encodeNumber(number: number): string {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1;
  let text = '';
  do {
    const bits = rest & 31;
    rest >>>= 5;
    text += digits[rest > 0 ? bits | 32 : bits];
  } while (rest > 0);
  return text;
}
