import { isFlowError } from '@flowline/core/time';
import { note, type Terminal } from './terminal.js';

/**
 * Tells a person what went wrong: a sentence, a hint, no stack trace unless the log level is debug or the error is a
 * fault of Flowline itself.
 */
export function reportError(error: unknown, terminal: Terminal, isDebug: boolean): void {
  const { colors } = terminal;
  const message = error instanceof Error ? error.message : String(error);
  note(terminal, `${colors.red('error')}: ${message}`);
  if (isFlowError(error)) {
    if (error.hint !== undefined) note(terminal, `${colors.dim('hint')}: ${error.hint}`);
    if (!isDebug) return;
  } else if (!isDebug) {
    note(
      terminal,
      'This looks like a fault in Flowline. Run again with --log-level debug to see where.',
    );
    return;
  }
  if (error instanceof Error && error.stack !== undefined) note(terminal, error.stack);
}
