import type { RunnerLog } from '@flowline/runner';
import { note, type Terminal } from './terminal.js';

const levels = ['debug', 'info', 'warn', 'error'] as const;

/** What a runner has to say, as lines on stderr, from this level on. */
export function runnerLog(terminal: Terminal, level: (typeof levels)[number]): RunnerLog {
  const least = levels.indexOf(level);
  const { colors } = terminal;
  const painted = {
    debug: colors.dim('debug'),
    info: 'info ',
    warn: colors.yellow('warn '),
    error: colors.red('error'),
  };
  return (at, message, fields = {}) => {
    if (levels.indexOf(at) < least) return;
    const { error, ...rest } = fields;
    const cause =
      error === undefined ? '' : `: ${error instanceof Error ? error.message : String(error)}`;
    const more = Object.keys(rest).length === 0 ? '' : ` ${colors.dim(JSON.stringify(rest))}`;
    note(
      terminal,
      `${colors.dim(new Date().toISOString())} ${painted[at]} ${message}${cause}${more}`,
    );
  };
}
