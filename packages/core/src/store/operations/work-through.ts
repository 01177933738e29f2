/**
 * Repairs item by item. One that fails does not keep the others from their turn; the first error is thrown at the end, so
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
  if (errors.length > 0) throw errors[0];
}
