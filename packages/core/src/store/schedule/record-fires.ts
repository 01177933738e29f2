import type { FireRecord } from '../../model/run.js';
import type { StoreContext } from '../context.js';
import { duplicatesOf } from '../driver-errors.js';

/**
 * Writes fires that did not become runs of their own. The first line about a date stands: `_id` is made of the DAG and
 * the first logical date, so a repetition, by whomever, is ignored. Returns how many fires the new lines stand for.
 */
export async function recordFires(
  context: StoreContext,
  records: readonly FireRecord[],
): Promise<number> {
  if (records.length === 0) return 0;
  const documents = records.map((record) => ({
    _id: fireKey(record.dagId, record.from),
    dagId: record.dagId,
    from: record.from,
    to: record.to,
    count: record.count,
    reason: record.reason,
    runId: record.runId,
    at: record.at,
  }));
  const known = new Set<number>();
  try {
    // Unordered: a line that is there already must not keep back the ones after it.
    await context.collections.fires.insertMany(documents, { ordered: false });
  } catch (error) {
    for (const index of duplicatesOf(error)) known.add(index);
  }
  return records.reduce((sum, record, index) => (known.has(index) ? sum : sum + record.count), 0);
}

/** `_id` of the line that begins at this logical date. */
export function fireKey(dagId: string, from: Date): string {
  return `${dagId}/${from.toISOString()}`;
}
