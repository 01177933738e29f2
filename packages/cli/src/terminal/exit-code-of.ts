import { isFlowError } from '@flowline/core/time';
import { exitCodes } from './exit-codes.js';

/** The status for an error that ended a command. */
export function exitCodeOf(error: unknown): number {
  if (!isFlowError(error)) return exitCodes.failed;
  switch (error.code) {
    case 'usage':
    case 'option':
    case 'decorator':
    case 'config':
    case 'load':
    case 'compile':
    case 'payload':
      return exitCodes.usage;
    case 'store-unreachable':
      return exitCodes.unreachable;
    default:
      return exitCodes.failed;
  }
}
