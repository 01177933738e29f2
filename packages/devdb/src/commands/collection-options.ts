import { DbError } from '../errors.js';
import { compileFilter } from '../query/compile-filter.js';
import { toDouble } from '../values/numbers.js';
import { type Doc, int32, isNumeric } from '../values/value.js';
import { booleanField, type CommandContext, documentField, wrongType } from './command.js';

/** The options of `create` and `collMod` that are kept with a collection. Throws 2, 14 or 72 for what is no such option. */
export function readCollectionOptions(context: CommandContext): Doc {
  const { body } = context;
  const options: Doc = new Map();
  if (booleanField(body, 'capped')) {
    const size = body.get('size');
    if (size === undefined)
      throw new DbError(72, "the 'size' field is required when 'capped' is true");
    if (!isNumeric(size)) throw wrongType('size', size, 'number');
    options.set('capped', true);
    // Sizes are whole multiples of 256 bytes, as in MongoDB.
    options.set('size', int32(Math.max(4096, Math.ceil(toDouble(size) / 256) * 256)));
    const max = body.get('max');
    if (isNumeric(max)) options.set('max', max);
  }
  const validator = documentField(body, 'validator');
  if (validator !== undefined) {
    compileFilter(validator, { now: context.now });
    options.set('validator', validator);
  }
  for (const [field, allowed] of [
    ['validationLevel', ['off', 'strict', 'moderate']],
    ['validationAction', ['error', 'warn']],
  ] as const) {
    const value = body.get(field);
    if (value === undefined) continue;
    if (typeof value !== 'string' || !(allowed as readonly string[]).includes(value)) {
      throw new DbError(2, `invalid ${field}: expected one of ${allowed.join(', ')}`);
    }
    options.set(field, value);
  }
  return options;
}
