import { DbError } from '../errors.js';

/*
 * MongoDB's patterns are PCRE's. They are rewritten for JavaScript's engine; what has no
 * counterpart there is refused instead of being matched in another way.
 */

/** The JavaScript pattern of a PCRE pattern with the options i, m, s and x (others are ignored). */
export function toRegExp(pattern: string, options: string): RegExp {
  checkLength(pattern, MAX_PATTERN_BYTES);
  const { source, flags } = new Translation(pattern, options).run();
  try {
    return new RegExp(source, `${flags}u`);
  } catch {
    // Unicode mode forbids escapes that PCRE takes, such as `\-`; without it they are plain.
  }
  try {
    return new RegExp(source, flags);
  } catch (cause) {
    throw invalidPattern(cause instanceof Error ? cause.message : String(cause));
  }
}

/** The longest pattern without groups that PCRE compiles; bytes. */
const MAX_PATTERN_BYTES = 32_764;

/** Throws 51091 for a pattern that is longer than PCRE takes. */
export function checkLength(pattern: string, maxBytes: number): void {
  if (pattern.length <= maxBytes && Buffer.byteLength(pattern) <= maxBytes) return;
  throw invalidPattern('regular expression is too large');
}

function invalidPattern(reason: string): DbError {
  return new DbError(51091, `Regular expression is invalid: ${reason}`);
}

/** Text with the characters escaped that mean something in a pattern. */
function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

const POSIX_CLASSES: Readonly<Record<string, string>> = {
  alpha: 'a-zA-Z',
  digit: '0-9',
  alnum: 'a-zA-Z0-9',
  upper: 'A-Z',
  lower: 'a-z',
  space: ' \\t\\n\\v\\f\\r',
  blank: ' \\t',
  punct: '!-\\/:-@\\[-`{-~',
  print: ' -~',
  graph: '!-~',
  cntrl: '\\x00-\\x1f\\x7f',
  xdigit: '0-9A-Fa-f',
  word: '\\w',
};

const SPACES = ' \\t\\n\\v\\f\\r';

/** What PCRE's escapes are in JavaScript; null where there is no counterpart. */
const ESCAPES: Readonly<Record<string, string | null>> = {
  A: '(?<![\\s\\S])',
  z: '(?![\\s\\S])',
  Z: '(?=\\n?(?![\\s\\S]))',
  s: `[${SPACES}]`,
  S: `[^${SPACES}]`,
  h: '[ \\t]',
  R: '(?:\\r\\n|[\\n\\v\\f\\r\\u0085\\u2028\\u2029])',
  N: '[^\\n]',
  a: '\\x07',
  e: '\\x1b',
  G: null,
  K: null,
  C: null,
  X: null,
  g: null,
  '-': '-',
  '"': '"',
  "'": "'",
  ' ': ' ',
  '#': '#',
  '/': '\\/',
};

class Translation {
  private at = 0;
  private out = '';
  private ignoreCase: boolean;
  private multiLine: boolean;
  private dotAll: boolean;
  private extended: boolean;

  constructor(
    private readonly pattern: string,
    options: string,
  ) {
    this.ignoreCase = options.includes('i');
    this.multiLine = options.includes('m');
    this.dotAll = options.includes('s');
    this.extended = options.includes('x');
  }

  run(): { source: string; flags: string } {
    while (this.at < this.pattern.length) this.step();
    return { source: this.out, flags: this.ignoreCase ? 'i' : '' };
  }

  private step(): void {
    const char = this.pattern[this.at]!;
    if (this.extended && this.skipsExtended(char)) return;
    if (char === '\\') this.escape();
    else if (char === '[') this.characterClass();
    else if (char === '(') this.group();
    else if (char === '.') this.emit(this.dotAll ? '[\\s\\S]' : '[^\\n]', 1);
    else if (char === '^') this.emit(this.multiLine ? '(?<![^\\n])' : '^', 1);
    // Without the option m, PCRE's end is also the place before a last line feed.
    else if (char === '$') this.emit(this.multiLine ? '(?![^\\n])' : '(?=\\n?$)', 1);
    else {
      if (char === '+' && this.followsQuantifier()) {
        throw invalidPattern('possessive quantifiers are not supported by this server');
      }
      this.emit(char, 1);
    }
  }

  private emit(text: string, consumed: number): void {
    this.out += text;
    this.at += consumed;
  }

  /** Whether what stands before is a quantifier, and not an escaped or literal character. */
  private followsQuantifier(): boolean {
    const before = this.pattern.slice(0, this.at);
    return /[*+?}]$/.test(before) && !/\\.$/.test(before);
  }

  private skipsExtended(char: string): boolean {
    if (/\s/.test(char)) {
      this.at++;
      return true;
    }
    if (char !== '#') return false;
    const end = this.pattern.indexOf('\n', this.at);
    this.at = end < 0 ? this.pattern.length : end + 1;
    return true;
  }

  private escape(): void {
    const next = this.pattern[this.at + 1];
    if (next === undefined) throw invalidPattern('\\ at end of pattern');
    const counterpart = ESCAPES[next];
    if (counterpart === null) throw invalidPattern(`\\${next} is not supported by this server`);
    if (counterpart !== undefined) this.emit(counterpart, 2);
    else if (next === 'Q') this.quotation();
    else if (next === 'x') this.hexEscape();
    else this.emit(`\\${next}`, 2);
  }

  private quotation(): void {
    const end = this.pattern.indexOf('\\E', this.at + 2);
    const quoted = this.pattern.slice(this.at + 2, end < 0 ? undefined : end);
    this.out += literally(quoted);
    this.at = end < 0 ? this.pattern.length : end + 2;
  }

  private hexEscape(): void {
    const braced = /^\\x\{([0-9A-Fa-f]+)\}/.exec(this.pattern.slice(this.at));
    const codePoint = Number.parseInt(braced?.[1] ?? '0', 16);
    if (codePoint > 0x10ffff) throw invalidPattern('a code point above 10FFFF');
    if (braced) this.emit(literally(String.fromCodePoint(codePoint)), braced[0].length);
    else this.emit('\\x', 2);
  }

  private group(): void {
    const rest = this.pattern.slice(this.at);
    const flags = /^\(\?([imsx]*)(?:-([imsx]*))?\)/.exec(rest);
    if (flags) {
      this.setFlags(flags[0], flags[1]!, flags[2] ?? '');
      return;
    }
    if (/^\(\?([imsx]+|[imsx]*-[imsx]+):/.test(rest)) {
      throw invalidPattern('options for one group are not supported by this server');
    }
    if (/^\(\?#/.test(rest)) {
      const end = rest.indexOf(')');
      if (end < 0) throw invalidPattern('missing ) after comment');
      this.at += end + 1;
      return;
    }
    if (/^\(\?(>|\||\(|R\)|\d|&|P>|P=|\+|-\d)/.test(rest) || /^\(\*/.test(rest)) {
      throw invalidPattern(`${rest.slice(0, 4)} is not supported by this server`);
    }
    const named = /^\(\?P?<([A-Za-z_]\w*)>/.exec(rest);
    if (named) this.emit(`(?<${named[1]}>`, named[0].length);
    else this.emit('(', 1);
  }

  /** Options inside a pattern: only where nothing but an anchor precedes them do they hold for all. */
  private setFlags(text: string, on: string, off: string): void {
    if (on.includes('i') || off.includes('i')) {
      if (!/^(\^|\(\?<!\[\^\\n\]\))?$/.test(this.out)) {
        throw invalidPattern('the option i in the middle is not supported by this server');
      }
      this.ignoreCase = !off.includes('i');
    }
    if (on.includes('m') || off.includes('m')) this.multiLine = !off.includes('m');
    if (on.includes('s') || off.includes('s')) this.dotAll = !off.includes('s');
    if (on.includes('x') || off.includes('x')) this.extended = !off.includes('x');
    this.at += text.length;
  }

  private characterClass(): void {
    let at = this.at + 1;
    let out = '[';
    if (this.pattern[at] === '^') {
      out += '^';
      at++;
    }
    for (let first = true; ; first = false) {
      const char = this.pattern[at];
      if (char === undefined) throw invalidPattern('missing terminating ] for character class');
      if (char === ']' && !first) break;
      const posix = /^\[:(\^?)(\w+):\]/.exec(this.pattern.slice(at));
      if (posix) {
        const members = POSIX_CLASSES[posix[2]!];
        if (members === undefined || posix[1]) {
          throw invalidPattern(`unknown POSIX class name ${posix[0]}`);
        }
        out += members;
        at += posix[0].length;
      } else if (char === '\\') {
        const next = this.pattern[at + 1];
        if (next === undefined) throw invalidPattern('\\ at end of pattern');
        out += next === 's' ? SPACES : next === 'h' ? ' \\t' : `\\${next}`;
        at += 2;
      } else {
        out += char === '[' || char === ']' ? `\\${char}` : char;
        at++;
      }
    }
    this.out += `${out}]`;
    this.at = at + 1;
  }
}
