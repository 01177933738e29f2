/** Pure: instants, durations and states as a person reads them. */
import type { Terminal } from '../terminal/terminal.js';

/** `2026-03-08 07:30:00Z`; milliseconds only when there are any. */
export function instant(date: Date | null | undefined): string {
  if (date === null || date === undefined) return '-';
  return date.toISOString().replace('T', ' ').replace('.000Z', 'Z');
}

/** `1.2s`, `3m 4s`, `2h 5m`: how long it took. */
export function elapsed(from: Date | null, to: Date | null): string {
  if (from === null || to === null) return '-';
  return span(to.getTime() - from.getTime());
}

/** A length of time in milliseconds, for people. */
export function span(ms: number): string {
  if (ms < 0) return '0ms';
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)}s`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
  if (seconds < 86_400)
    return `${Math.floor(seconds / 3_600)}h ${Math.floor((seconds % 3_600) / 60)}m`;
  return `${Math.floor(seconds / 86_400)}d ${Math.floor((seconds % 86_400) / 3_600)}h`;
}

/** `1 run`, `2 runs`; `many` for words that take no s. */
export function counted(count: number, word: string, many = `${word}s`): string {
  return `${count} ${count === 1 ? word : many}`;
}

/** A state in its colour. */
export function stateWord({ colors }: Terminal, state: string): string {
  switch (state) {
    case 'succeeded':
      return colors.green(state);
    case 'failed':
    case 'upstream-failed':
      return colors.red(state);
    case 'running':
      return colors.cyan(state);
    case 'cancelled':
    case 'skipped':
    case 'delayed':
    case 'paused':
      return colors.yellow(state);
    default:
      return state;
  }
}
