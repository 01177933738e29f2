/**
 * What may go wrong with one operation:
 *
 * - `die-before`: the process dies before it is sent; nothing more of it runs.
 * - `die-after`: it is applied, and the process dies before it hears so. Of writes only.
 * - `lose-answer`: it is applied, and instead of its answer comes a broken connection. Of writes only.
 * - `fail-passing`: it is not applied; a broken connection, which the driver calls retryable.
 * - `fail-for-good`: it is not applied; an error that no repetition mends.
 */
export const faultKinds = [
  'die-before',
  'die-after',
  'lose-answer',
  'fail-passing',
  'fail-for-good',
] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface Fault {
  readonly kind: FaultKind;
  /** Which operation, from 1. `die-after` and `lose-answer` count writes; the other kinds count all operations. */
  readonly at: number;
}

/** What is to go wrong in one life of a process. Empty: nothing. */
export type FaultPlan = readonly Fault[];

/** True for the kinds that concern writes only: losing the answer of a read is failing it. */
export function isOfWrites(kind: FaultKind): boolean {
  return kind === 'die-after' || kind === 'lose-answer';
}

/** `die-after write 3, fail-passing operation 7`; `no fault`. */
export function describePlan(plan: FaultPlan): string {
  if (plan.length === 0) return 'no fault';
  return plan
    .map(({ kind, at }) => `${kind} ${isOfWrites(kind) ? 'write' : 'operation'} ${at}`)
    .join(', ');
}
