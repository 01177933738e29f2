import { counted } from '../output/words.js';
import type { Check } from './check.js';

export const invariants: Check = {
  name: 'invariants',
  async look(store) {
    const { violations, counts } = await store.audit();
    const seen = `${counted(counts.runs, 'run')} and ${counted(counts.tasks, 'task')}`;
    if (violations.length === 0) return { state: 'ok', message: `all hold, in ${seen}` };
    return {
      state: 'fault',
      message: `${counted(violations.length, 'violation')} in ${seen}`,
      details: violations.map(
        ({ invariant, subject, expected, found }) =>
          `${invariant}: ${subject}: expected ${expected}, found ${found}`,
      ),
      hint: 'This should be impossible: somebody wrote to the collections, or this is a fault of Flowline. Please report it.',
    };
  },
};
