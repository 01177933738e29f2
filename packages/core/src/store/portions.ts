/** What is too much for one operation or one step, in portions of at most `size`, in its order. */
export function* portionsOf<T>(all: readonly T[], size: number): Iterable<T[]> {
  for (let from = 0; from < all.length; from += size) yield all.slice(from, from + size);
}
