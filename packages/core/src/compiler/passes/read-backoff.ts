import { describeValue } from '../../errors.js';
import type { BackoffPolicy } from '../../model/definition.js';
import { MAX_BACKOFF_MS } from '../../time/backoff.js';
import { formatDuration } from '../../time/duration.js';
import {
  type Field,
  member,
  readChoice,
  readDuration,
  readNumber,
  readObject,
  report,
} from '../fields.js';

const defaultDelayMs = 1_000;
const defaultMaxMs = 3_600_000;

/** Reads `retry.backoff`; the defaults stand where it is absent. */
export function readBackoff(field: Field): BackoffPolicy {
  const backoff = readObject(field, ['type', 'delay', 'max', 'factor', 'jitter']) ?? {};
  const at = (key: string): Field => member(field, backoff, key);
  const type = readChoice(at('type'), ['fixed', 'linear', 'exponential']) ?? 'exponential';
  const delay = readDuration(at('delay'), { maxMs: MAX_BACKOFF_MS });
  const max = readDuration(at('max'), { minMs: 1, maxMs: MAX_BACKOFF_MS });
  const factor = readNumber(at('factor'), 1, 100);
  const delayMs = delay ?? defaultDelayMs;
  if (max !== undefined && max < delayMs) {
    const limit = `at least the delay of ${formatDuration(delayMs)}${delay === undefined ? ' (the default)' : ''}`;
    report(
      at('max'),
      'option-range',
      `expected ${limit}, found ${describeValue(backoff.max)}`,
      'The delay starts at `delay` and grows up to `max`: raise max or lower delay.',
    );
  }
  if (factor !== undefined && type !== 'exponential') {
    report(
      at('factor'),
      'option-clash',
      `expected no factor beside type: '${type}', found ${factor}`,
      "Only type: 'exponential' has a factor.",
    );
  }
  return {
    type,
    delayMs,
    maxMs: max ?? Math.max(defaultMaxMs, delayMs),
    factor: factor ?? 2,
    jitter: readChoice(at('jitter'), ['none', 'full', 'equal']) ?? 'none',
  };
}
