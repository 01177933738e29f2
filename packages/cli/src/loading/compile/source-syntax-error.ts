/** Where and why a source file does not parse. Plain data: it crosses from the hook thread to the main thread. */
export interface SyntaxFault {
  readonly kind: 'syntax';
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  readonly reason: string;
  /** The lines around the fault, with a caret under it. */
  readonly frame: string;
}

/** A source file that does not parse. `flowLoad` survives the trip between threads, the class does not. */
export class SourceSyntaxError extends SyntaxError {
  readonly flowLoad: SyntaxFault;
  override readonly name = 'SourceSyntaxError';

  constructor(fault: SyntaxFault) {
    super(`${fault.file}:${fault.line}:${fault.column}: ${fault.reason}\n${fault.frame}`);
    this.flowLoad = fault;
  }
}

/** Turns what swc throws (a drawing of the fault, as text) into a SourceSyntaxError; anything else comes back as it is. */
export function toSourceSyntaxError(error: unknown, file: string, source: string): unknown {
  if (!(error instanceof Error)) return error;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: swc colours its drawing where it sees a terminal.
  const drawing = error.message.replace(/\u001b\[[0-9;]*m/g, '');
  const place = /[,╭][-─]+\[.*:(\d+):(\d+)\]/.exec(drawing);
  if (place === null) return error;
  const reason = /^\s*(?:x|×)\s+(.*)$/m.exec(drawing)?.[1]?.trim() ?? 'Syntax error';
  const line = Number(place[1]);
  const text = source.split('\n')[line - 1] ?? '';
  const column = caretColumn(drawing, line, text) ?? Number(place[2]);
  return new SourceSyntaxError({
    kind: 'syntax',
    file,
    line,
    column,
    reason,
    frame: codeFrame(source, line, column),
  });
}

/** The column of the caret that swc draws under the named line; the figure that it prints is that of the line's start. */
function caretColumn(drawing: string, line: number, text: string): number | undefined {
  const lines = drawing.split('\n');
  const at = lines.findIndex((drawn) => new RegExp(`^\\s*${line}\\s[|│]`).test(drawn));
  const gutter = /^(\s*\d+\s[|│] )/.exec(lines[at] ?? '')?.[1]?.length;
  const caret = /^\s*[:·][^^─┬]*/.exec(lines[at + 1] ?? '')?.[0].length;
  if (gutter === undefined || caret === undefined) return undefined;
  let drawn = 0;
  let column = 1;
  // Tabs are drawn as blanks up to the next multiple of four.
  for (; drawn < caret - gutter; column++) drawn += text[column - 1] === '\t' ? 4 - (drawn % 4) : 1;
  return column;
}

/** Up to two lines before and one after a position, numbered, with a caret under it. */
export function codeFrame(source: string, line: number, column: number): string {
  const lines = source.split(/\r?\n/);
  const from = Math.max(1, line - 2);
  const to = Math.min(lines.length, line + 1);
  const width = String(to).length;
  const frame: string[] = [];
  for (let number = from; number <= to; number++) {
    const text = lines[number - 1] ?? '';
    frame.push(
      `${number === line ? '>' : ' '} ${String(number).padStart(width)} | ${text}`.trimEnd(),
    );
    if (number !== line) continue;
    // Tabs are kept, so that the caret stands right however wide the terminal draws them.
    const indent = text.slice(0, column - 1).replace(/[^\t]/g, ' ');
    frame.push(`  ${' '.repeat(width)} | ${indent}^`);
  }
  return frame.join('\n');
}
