import type { SharedConnection } from '../store/shared-connection.js';

/** What is wrong with these DAGs at rest, with no patience at all; in words. */
export async function auditScenes(
  connection: SharedConnection,
  dagIds: readonly string[],
): Promise<string[]> {
  if (dagIds.length === 0) return [];
  const options = { leaseMs: 0, pollMs: 0, atRest: true, dagIds };
  const { violations } = await connection.open().audit(options);
  return violations.map(
    ({ invariant, subject, expected, found }) =>
      `${invariant}: ${subject}: expected ${expected}, found ${found}`,
  );
}
