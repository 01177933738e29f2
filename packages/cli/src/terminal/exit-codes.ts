/** What an exit status of `flow` means; documented in docs/cli.md. */
export const exitCodes = {
  done: 0,
  /** What was asked for failed: a run failed, a check found a fault, a thing is not there. */
  failed: 1,
  /** Wrong usage, configuration or definition. */
  usage: 2,
  unreachable: 3,
  /** Some of it was done. */
  partly: 4,
  interrupted: 130,
  terminated: 143,
} as const;

/** The status after a signal that was answered with a clean end; a reader that closed the pipe has what it wanted. */
export function exitCodeOfSignal(signal: unknown): number {
  if (signal === 'EPIPE') return exitCodes.done;
  return signal === 'SIGTERM' ? exitCodes.terminated : exitCodes.interrupted;
}
