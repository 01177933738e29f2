import type { MisfirePolicy } from '../../model/definition.js';
import {
  type Field,
  listOf,
  member,
  readChoice,
  readDuration,
  readInteger,
  readObject,
  report,
  reportFound,
} from '../fields.js';

const misfirePolicies = ['catch-up', 'coalesce', 'skip'] as const;

/** Reads `misfire`, a policy or an object; the defaults stand where it is absent. `resumesAll`: a resume makes catch-up runs too. */
export function readMisfire(field: Field, resumesAll: boolean): MisfirePolicy {
  const { value } = field;
  if (typeof value === 'string' || value === undefined) {
    return { policy: readChoice(field, misfirePolicies) ?? 'coalesce', maxCatchUp: 100 };
  }
  if (typeof value !== 'object' || value === null) {
    reportFound(field, 'option-type', `${listOf(misfirePolicies)} or an object with policy`);
  }
  const misfire =
    typeof value === 'object' && value !== null
      ? (readObject(field, ['policy', 'grace', 'maxCatchUp', 'window', 'spacing']) ?? {})
      : {};
  const at = (key: string): Field => member(field, misfire, key);
  const policy = readChoice(at('policy'), misfirePolicies);
  const graceMs = readDuration(at('grace'), { minMs: 1 });
  const windowMs = readDuration(at('window'), { minMs: 1 });
  const spacingMs = readDuration(at('spacing'), { minMs: 1 });
  const maxCatchUp = readInteger(at('maxCatchUp'), 1, 10_000);
  for (const name of ['maxCatchUp', 'window', 'spacing']) {
    if (misfire[name] === undefined || policy === 'catch-up') continue;
    if (name === 'spacing' && resumesAll) continue;
    // A misspelt policy is reported already.
    if (policy === undefined && misfire.policy !== undefined) continue;
    report(
      at(name),
      'option-clash',
      `expected ${name} beside policy: 'catch-up' only, found it beside '${policy ?? 'coalesce'}'`,
      `Write policy: 'catch-up', or remove ${name}.`,
    );
  }
  return {
    policy: policy ?? 'coalesce',
    ...(graceMs === undefined ? {} : { graceMs }),
    maxCatchUp: maxCatchUp ?? 100,
    ...(windowMs === undefined ? {} : { windowMs }),
    ...(spacingMs === undefined ? {} : { spacingMs }),
  };
}
