import { describeValue } from '../../errors.js';
import type { ExpectWithin } from '../../model/definition.js';
import { type Field, member, readDuration, readObject, report, reportFound } from '../fields.js';
import { movedExpectOptions } from '../option-names.js';

const dayMs = 86_400_000;
const keys = ['start', 'finish', 'duration'] as const;

/** Reads `expectWithin`; undefined where nothing is expected. */
export function readExpectWithin(field: Field): ExpectWithin | undefined {
  const expects = readObject(field, keys, movedExpectOptions);
  if (expects === undefined) return undefined;
  if (Object.values(expects).every((value) => value === undefined)) {
    reportFound(field, 'option-value', "at least one of 'start', 'finish' and 'duration'");
    return undefined;
  }
  const at = (key: (typeof keys)[number]): Field => member(field, expects, key);
  const limits = { minMs: 1_000, maxMs: 366 * dayMs };
  const [startMs, finishMs, durationMs] = keys.map((key) => readDuration(at(key), limits));
  if (startMs !== undefined && finishMs !== undefined && finishMs < startMs) {
    report(
      at('finish'),
      'option-range',
      `expected at least start (${describeValue(expects.start)}), found ${describeValue(expects.finish)}`,
      'Both count from when the run is due: a run cannot finish before it may have started.',
    );
  }
  return {
    ...(startMs === undefined ? {} : { startMs }),
    ...(finishMs === undefined ? {} : { finishMs }),
    ...(durationMs === undefined ? {} : { durationMs }),
  };
}
