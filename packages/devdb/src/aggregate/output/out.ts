import { DbError, typeMismatch } from '../../errors.js';
import { typeName } from '../../values/type-names.js';
import type { OutputDefinition } from './output.js';

/** `$out`: the result becomes the content of a collection of the same database. */
export const OUT: OutputDefinition = {
  name: '$out',
  compile(value, { env }) {
    if (typeof value !== 'string') {
      throw typeMismatch(`$out stage requires a string argument, but found ${typeName(value)}`);
    }
    if (value === '' || value.startsWith('.') || value.includes('\0') || value.includes('$')) {
      throw new DbError(73, `Invalid $out target namespace, ${env.database}.${value}`);
    }
    if (value.startsWith('system.')) {
      throw new DbError(17385, `Can't $out to special collection: ${value}`);
    }
    return { kind: 'out', collection: value };
  },
};
