/**
 * One owner per data directory. The owner's identity is a record in a small lmdb environment, read and written inside one lmdb
 * write transaction: its lock works across processes and is let go by the system when a process dies, so that two
 * servers can never both take over after a dead one.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import { livenessOf, ownIdentity, type ProcessIdentity } from './process-identity.js';
import { isServing, readServerFile } from './server-file.js';

/** Makes this process the owner. Returns the living owner instead if there is one. */
export async function claimOwnership(directory: string): Promise<ProcessIdentity | null> {
  mkdirSync(join(directory, 'owner'), { recursive: true });
  const environment = open<string, string>({
    path: join(directory, 'owner'),
    noSubdir: false,
    encoding: 'string',
  });
  try {
    return environment.transactionSync(() => {
      const stored = environment.get('owner');
      const owner = stored === undefined ? null : (JSON.parse(stored) as ProcessIdentity);
      if (owner !== null && owner.pid !== process.pid && isAlive(directory, owner)) return owner;
      environment.put('owner', JSON.stringify(ownIdentity()));
      return null;
    });
  } finally {
    await environment.close();
  }
}

function isAlive(directory: string, owner: ProcessIdentity): boolean {
  const liveness = livenessOf(owner);
  if (liveness !== 'elsewhere') return liveness === 'alive';
  const file = readServerFile(directory);
  return file !== null && file.phase !== 'stopped' && isServing(directory, file);
}
