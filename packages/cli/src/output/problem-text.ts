import { relative } from 'node:path';
import type { Problem } from '@flowline/core';
import type { Terminal } from '../terminal/terminal.js';
import { counted } from './words.js';

/** A problem as JSON: `{ code, severity, path, message, hint, file, line }`. */
export function problemJson(problem: Problem) {
  const { code, severity, path, message, hint, file, line } = problem;
  return {
    code,
    severity,
    path,
    message,
    hint: hint ?? null,
    file: file ?? null,
    line: line ?? null,
  };
}

/** All problems for a person: where, what, and what to do. */
export function problemText(terminal: Terminal, problems: readonly Problem[], cwd: string): string {
  const { colors } = terminal;
  const lines = problems.map((problem) => {
    const where =
      problem.file === undefined
        ? ''
        : `${relative(cwd, problem.file)}${problem.line === undefined ? '' : `:${problem.line}`}`;
    const kind = problem.severity === 'error' ? colors.red('error') : colors.yellow('warning');
    return [
      `${kind} ${colors.bold(problem.path)} ${colors.dim(`[${problem.code}]`)}${where === '' ? '' : `\n  at ${where}`}`,
      ...problem.message.split('\n').map((line) => `  ${line}`),
      ...(problem.hint === undefined ? [] : [`  ${colors.dim('hint')}: ${problem.hint}`]),
    ].join('\n');
  });
  return lines.join('\n\n');
}

/** `3 errors, 1 warning` */
export function problemCount(problems: readonly Problem[]): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const warnings = problems.length - errors;
  return [
    ...(errors > 0 ? [counted(errors, 'error')] : []),
    ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
  ].join(', ');
}
