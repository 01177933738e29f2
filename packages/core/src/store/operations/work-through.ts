import { isPassing } from '../driver-errors.js';

/**
 * Repairs item by item. One that fails does not keep the others from their turn; an error is thrown at the end, so
 * that it is seen and the whole is tried again.
 */
export async function workThrough<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const errors: unknown[] = [];
  for (const item of items) {
    try {
      await work(item);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw worstOf(errors);
}

/** That the database is away tells more than that one item cannot be repaired; else the first. */
export function worstOf(errors: readonly unknown[]): unknown {
  return errors.find(isPassing) ?? errors[0];
}
