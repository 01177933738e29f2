import type { ExpressionEnv } from '../expression/scope.js';

/** What the surroundings give to a filter. */
export interface FilterEnv extends ExpressionEnv {
  /**
   * Why `$expr` may not stand here (an upsert, arrayFilters, a partial index), for the message of
   * the error 224; it may where this is absent.
   */
  readonly exprRefusedIn?: string | undefined;
}
