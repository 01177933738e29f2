import { DbError } from '../../errors.js';
import { toDouble } from '../../values/numbers.js';
import { type Doc, isDoc, isNumeric } from '../../values/value.js';
import type { StageDefinition } from '../stage.js';

/** `$sample`: some documents in random order, none of them twice. */
export const SAMPLE: StageDefinition = {
  name: '$sample',
  compile(value, { env }) {
    if (!isDoc(value)) {
      throw new DbError(28745, 'the $sample stage specification must be an object');
    }
    for (const key of value.keys()) {
      if (key !== 'size') throw new DbError(28748, `unrecognized option to $sample: ${key}`);
    }
    if (!value.has('size')) throw new DbError(28749, '$sample stage must specify a size');
    const given = value.get('size');
    if (!isNumeric(given)) throw new DbError(28746, 'size argument to $sample must be a number');
    const size = Math.trunc(toDouble(given));
    if (size < 0) throw new DbError(28747, 'size argument to $sample must not be negative');
    return (source) => shuffled([...source], () => env.random()).slice(0, size);
  },
};

/** Puts documents into random order in place (Fisher and Yates). */
function shuffled(documents: Doc[], random: () => number): Doc[] {
  for (let i = documents.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1));
    const moved = documents[i]!;
    documents[i] = documents[other]!;
    documents[other] = moved;
  }
  return documents;
}
