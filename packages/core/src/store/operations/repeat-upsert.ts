import { isDuplicateKey } from '../driver-errors.js';

/** As many upserts may meet in one moment as somebody removes what they made: more than twice is no accident. */
const mostTries = 3;

/**
 * Calls again when the upsert met another of its key: two that find nothing both insert, and one of them gets E11000. The server
 * repeats it by itself only where the filter names exactly the fields of the index that was met. `upsert` has to be
 * repeatable; the error of its last try is thrown.
 */
export async function repeatUpsert<T>(upsert: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await upsert();
    } catch (error) {
      if (!isDuplicateKey(error) || tries === mostTries) throw error;
    }
  }
}
