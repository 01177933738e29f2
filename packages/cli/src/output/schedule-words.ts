import { describe, isFlowError } from '@flowline/core';
import type { DagDefinition, Schedule } from '@flowline/core/internal';

/** A schedule in words; one that cannot be evaluated does not keep the others from being shown. */
export function scheduleWords(schedule: Schedule | null | undefined): string {
  if (schedule === null || schedule === undefined) return 'on demand';
  try {
    return describe(schedule);
  } catch (error) {
    return `not a schedule: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** The definition, or null where it is not there or cannot be read; only what the database refuses is thrown. */
export async function readableVersion(
  read: Promise<DagDefinition | null>,
): Promise<DagDefinition | null> {
  try {
    return await read;
  } catch (error) {
    if (isFlowError(error, 'store') || isFlowError(error, 'store-unreachable')) throw error;
    return null;
  }
}
