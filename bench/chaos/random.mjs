/** Pure: a sequence of numbers that a seed decides, so that a failing run of chaos can be asked for again. */

/** @param {number} seed @returns {() => number} numbers in [0, 1); the generator is mulberry32 */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A number in [from, to). */
export const between = (random, from, to) => from + random() * (to - from);

export const oneOf = (random, list) => list[Math.floor(random() * list.length)];
