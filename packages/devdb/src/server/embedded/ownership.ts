/**
 * One owner per data directory. The owner's identity is a record in a small lmdb environment, read and written inside one lmdb
 * write transaction: its lock works across processes and is let go by the system when a process dies, so that two
 * servers can never both take over after a dead one.
 */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { open } from 'lmdb';
import { DataDirectoryError } from '../data-directory-error.js';
import { livenessOf, ownIdentity, type ProcessIdentity } from './process-identity.js';
import { isServing, readServerFile } from './server-file.js';

/** Makes this process the owner. Returns the living owner instead if there is one. */
export async function claimOwnership(directory: string): Promise<ProcessIdentity | null> {
  mkdirSync(join(directory, 'owner'), { recursive: true });
  const environment = openOwner(directory);
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

/** Directories that servers of this very process hold. */
const held = new Set<string>();

/**
 * Makes this process the owner of a directory for one server; the returned function lets go.
 * Throws DataDirectoryError if another server has it.
 */
export async function takeDirectory(directory: string): Promise<() => Promise<void>> {
  const path = resolve(directory);
  const owner = held.has(path) ? ownIdentity() : await claimOwnership(path);
  if (owner !== null) {
    throw new DataDirectoryError(
      `${path} is in use by another development server (process ${owner.pid}); connect to that one, or stop it.`,
    );
  }
  held.add(path);
  return async () => {
    held.delete(path);
    await releaseOwnership(path);
  };
}

async function releaseOwnership(directory: string): Promise<void> {
  const environment = openOwner(directory);
  try {
    environment.transactionSync(() => {
      const stored = environment.get('owner');
      if (stored === undefined) return;
      if ((JSON.parse(stored) as ProcessIdentity).pid === process.pid)
        environment.removeSync('owner');
    });
  } finally {
    await environment.close();
  }
}

function openOwner(directory: string) {
  return open<string, string>({
    path: join(directory, 'owner'),
    noSubdir: false,
    encoding: 'string',
  });
}

function isAlive(directory: string, owner: ProcessIdentity): boolean {
  const liveness = livenessOf(owner);
  if (liveness !== 'elsewhere') return liveness === 'alive';
  const file = readServerFile(directory);
  return file !== null && file.phase !== 'stopped' && isServing(directory, file);
}
