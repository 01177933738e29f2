import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreError } from '@flowline/core';
import type { ConnectOptions } from '@flowline/core/internal';
import type { EmbeddedConnection } from '@flowline/devdb';
import type { Settings } from '../config/resolve-settings.js';
import { fileFault } from './file-fault.js';

export interface OpenDatabase {
  readonly connection: ConnectOptions;
  /** True for the embedded development database. */
  readonly isEmbedded: boolean;
  close(): Promise<void>;
}

/** The database of the settings: the URI, or else the embedded development server, started if it does not run. */
export async function openDatabase(settings: Settings): Promise<OpenDatabase> {
  const { mongodbUri: uri, database, dataDir } = settings;
  if (uri !== undefined || dataDir === undefined) {
    return {
      connection: { uri: uri as string, database },
      isEmbedded: false,
      close: async () => {},
    };
  }
  const embedded = await connectTo(dataDir);
  return {
    connection: { uri: embedded.uri, database },
    isEmbedded: true,
    close: () => embedded.close(),
  };
}

/**
 * The embedded server of a folder, started if it does not run. Throws UsageError for a folder that cannot be, StoreError
 * (unreachable) where the server does not come up.
 */
export async function connectTo(dataDir: string): Promise<EmbeddedConnection> {
  // Loaded only where it is used: production needs none of it.
  const { connectEmbedded } = await import('@flowline/devdb');
  try {
    makeFolder(dataDir);
    return await connectEmbedded(dataDir);
  } catch (error) {
    if ((error as Error).name !== 'DataDirectoryError') throw fileFault(dataDir, error);
    throw new StoreError((error as Error).message, {
      unreachable: true,
      cause: error,
      hint: 'FLOW_DATA_DIR names another folder, FLOW_MONGODB_URI a MongoDB instead.',
    });
  }
}

/** One level after the other: Node's own recursive mkdir never comes back from a parent that refuses with ENOENT. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  try {
    mkdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
