import { DecoratorError } from '../errors.js';

/**
 * Checks that a decorator was applied to a class and to nothing else. `args` are all arguments it was called with: in
 * the legacy dialect a member shows as a second argument that is a name, in the TC39 dialect as a context of another kind.
 * Throws DecoratorError.
 */
export function checkClassTarget(decorator: string, args: readonly unknown[]): void {
  const [target, context] = args;
  const fail = (found: string): never => {
    throw new DecoratorError(`@${decorator}: expected to stand on a class, found it on ${found}`, {
      hint: `Move @${decorator}(...) to the line above the class.`,
    });
  };
  if (typeof context === 'string' || typeof context === 'symbol') {
    fail(`the member ${String(context)} of ${nameOfOwner(target)}`);
  }
  if (typeof context === 'object' && context !== null && 'kind' in context) {
    if (context.kind !== 'class') {
      fail(`the ${context.kind} ${String((context as { name?: unknown }).name)}`);
    }
  } else if (args.length > 2) {
    fail(`a parameter of the constructor of ${nameOfOwner(target)}`);
  }
  if (typeof target !== 'function') fail(`a value of type ${typeof target}`);
}

/** Refuses `@Job` without parentheses, where the class itself arrives in the place of the options. Throws DecoratorError. */
export function checkNotBare(decorator: string, options: unknown): void {
  if (typeof options !== 'function') return;
  throw new DecoratorError(
    `@${decorator} on ${options.name || 'a class'}: expected parentheses, found none`,
    { hint: `Write @${decorator}().` },
  );
}

function nameOfOwner(target: unknown): string {
  if (typeof target === 'function') return target.name || 'a class';
  const owner = (target as { constructor?: { name?: string } } | null | undefined)?.constructor;
  return owner?.name || 'a class';
}
