import Table from 'cli-table3';
import type { Terminal } from '../terminal/terminal.js';

const bare = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/** A table without lines: headings dim, columns two blanks apart. One row a line, so that `grep` works. */
export function table(
  terminal: Terminal,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const drawn = new Table({
    head: headings.map((heading) => terminal.colors.dim(heading)),
    chars: bare,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  drawn.push(...rows.map((row) => [...row]));
  return drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}
