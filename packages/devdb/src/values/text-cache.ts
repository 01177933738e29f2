/** Node's own slicing methods, which its type declarations leave out; quicker than `toString`. */
export interface SliceableBuffer extends Buffer {
  latin1Slice(start: number, end: number): string;
  utf8Slice(start: number, end: number): string;
}

const SIZE = 4096;
const MAX_LENGTH = 32;

/**
 * Short texts that come again from document to document: field names, states, names of jobs.
 * Sharing one string saves its copy and, as most documents are kept in memory, its space. A text
 * has one slot, which it takes over from another one.
 */
export class TextCache {
  readonly #texts: string[] = new Array(SIZE).fill('');

  /** The text of some bytes, or null where they are too many or not all ASCII. */
  ascii(bytes: SliceableBuffer, start: number, end: number): string | null {
    const length = end - start;
    if (length > MAX_LENGTH) return null;
    let hash = length;
    let high = 0;
    for (let at = start; at < end; at++) {
      const byte = bytes[at]!;
      hash = (Math.imul(hash, 31) + byte) | 0;
      high |= byte;
    }
    if (high > 0x7f) return null;
    const slot = (hash ^ (hash >>> 13)) & (SIZE - 1);
    const cached = this.#texts[slot]!;
    if (cached.length === length && isSame(cached, bytes, start)) return cached;
    const text = bytes.latin1Slice(start, end);
    this.#texts[slot] = text;
    return text;
  }
}

function isSame(text: string, bytes: Uint8Array, start: number): boolean {
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) !== bytes[start + index]) return false;
  }
  return true;
}
