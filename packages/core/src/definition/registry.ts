/**
 * The classes that were decorated in this process, in order, so that a loader finds those that no file exports.
 *
 * The list lives on `globalThis` under a `Symbol.for` key: all copies of this package share it.
 */

const key = Symbol.for('flowline.decorated-classes');
type Holder = { [key]?: Set<object> };

function registry(): Set<object> {
  const holder = globalThis as Holder;
  holder[key] ??= new Set();
  return holder[key];
}

/** Remembers a class; a second call with the same class changes nothing. */
export function noteDecorated(target: object): void {
  registry().add(target);
}

/** The classes decorated so far and not yet taken, in the order of their first decorator. */
export function listDecoratedClasses(): object[] {
  return [...registry()];
}

/**
 * Returns the classes decorated since the last call and forgets them, so that a reload does not keep old ones alive.
 * To learn which classes a file defines: call it, import the file, call it again.
 */
export function takeDecoratedClasses(): object[] {
  const taken = listDecoratedClasses();
  registry().clear();
  return taken;
}
