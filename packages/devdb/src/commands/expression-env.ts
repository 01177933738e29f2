/** What the expressions in a command's filters, updates and pipelines see. */
import type { ExpressionEnv } from '../expression/scope.js';
import type { CommandContext } from './command.js';

/** `$$NOW` is the command's one instant, `$$CLUSTER_TIME` the time of the last change. */
export function expressionEnv(context: CommandContext): ExpressionEnv {
  return { now: context.now, clusterTime: context.store.clock.latest() };
}

/**
 * For count, distinct and delete, where MongoDB 4.2 knows no `$$NOW` (51144): what relies on it
 * would fail on such a server.
 */
export function timelessEnv(context: CommandContext): ExpressionEnv {
  return { now: context.now, hasNoTime: true };
}
