/**
 * Plain columns, two blanks apart, for cells of one line of Latin text. Commands that must be quick use it where a table
 * (table.ts) would load a library for the width of any script's letters.
 */
export function columns(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows];
  const widths = headings.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
