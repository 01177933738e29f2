import { ConfigError } from '../errors.js';
import type { ConnectOptions } from '../store/connect.js';

/** Where a client finds its database. */
export interface ClientOptions {
  /** Default: FLOW_MONGODB_URI, else the embedded development database. */
  readonly uri?: string;
  /** Default: FLOW_DATABASE, else the database named in the URI, else `flowline`. */
  readonly database?: string;
  /** Folder of the embedded development database. Default: FLOW_DATA_DIR, else `.flow` in the working directory. */
  readonly dataDir?: string;
  /** How long to look for a server before giving up, in ms. Default 3,000. */
  readonly serverSelectionTimeoutMs?: number;
  /** Shown by the server in its log. Default `flowline-client`. */
  readonly appName?: string;
}

export interface OpenedDatabase {
  readonly connection: ConnectOptions;
  close(): Promise<void>;
}

interface EmbeddedModule {
  connectEmbedded(dataDir: string): Promise<{ readonly uri: string; close(): Promise<void> }>;
}

/** Comes with the command line; core does not depend on it, and production needs none of it. */
const embeddedPackage = '@flowline/devdb';

/** The database of the options and the environment. Throws ConfigError when there is none. */
export async function openDatabase(
  options: ClientOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<OpenedDatabase> {
  const uri = options.uri || environment.FLOW_MONGODB_URI;
  const database = options.database || environment.FLOW_DATABASE;
  const embedded = uri ? null : await openEmbedded(options, environment);
  return {
    connection: {
      uri: uri || embedded!.uri,
      appName: options.appName ?? 'flowline-client',
      ...(database ? { database } : {}),
      ...(options.serverSelectionTimeoutMs === undefined
        ? {}
        : { serverSelectionTimeoutMs: options.serverSelectionTimeoutMs }),
    },
    close: async () => embedded?.close(),
  };
}

async function openEmbedded(
  options: ClientOptions,
  environment: Readonly<Record<string, string | undefined>>,
): ReturnType<EmbeddedModule['connectEmbedded']> {
  let module: EmbeddedModule;
  try {
    module = (await import(embeddedPackage)) as EmbeddedModule;
  } catch (error) {
    throw new ConfigError('There is no database: neither a uri nor FLOW_MONGODB_URI is set.', {
      cause: error,
      hint: 'Set FLOW_MONGODB_URI, or install @flowline/cli for the embedded development database.',
    });
  }
  return module.connectEmbedded(options.dataDir || environment.FLOW_DATA_DIR || '.flow');
}
