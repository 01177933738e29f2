import type { ConnectOptions } from '@flowline/core/internal';
import type { Settings } from '../config/resolve-settings.js';

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
  // Loaded only where it is used: production needs none of it.
  const { connectEmbedded } = await import('@flowline/devdb');
  const embedded = await connectEmbedded(dataDir);
  return {
    connection: { uri: embedded.uri, database },
    isEmbedded: true,
    close: () => embedded.close(),
  };
}
