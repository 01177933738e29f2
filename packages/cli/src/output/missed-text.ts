import type { ExpectationKind, MissedExpectation } from '@flowline/core/internal';
import { counted, instant } from './words.js';

const verbs: Readonly<Record<ExpectationKind, string>> = {
  start: 'start',
  finish: 'finish',
  duration: 'end',
};

/** `missed expectation: did not start by 2026-03-08 07:40:00Z (noticed ...)`, and which run or fires. */
export function missedText(missed: MissedExpectation): string {
  const { kind, runId, count, logicalDate, expectedBy, missedAt } = missed;
  const of =
    runId === null
      ? `${counted(count, 'fire')} from ${instant(logicalDate)} that never ran`
      : `run ${runId}`;
  return `missed expectation: ${of} did not ${verbs[kind]} by ${instant(expectedBy)}, noticed at ${instant(missedAt)}`;
}
