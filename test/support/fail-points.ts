import { type Document, MongoClient } from 'mongodb';

/** What `failCommand` does, as MongoDB's own test suites describe it. */
export interface FailCommand {
  readonly mode: 'alwaysOn' | { readonly times: number };
  readonly data: {
    readonly failCommands: readonly string[];
    readonly errorCode?: number;
    readonly errorLabels?: readonly string[];
    readonly closeConnection?: boolean;
    readonly blockConnection?: boolean;
    readonly blockTimeMS?: number;
    readonly writeConcernError?: Document;
    /** Only clients with this name: others of the same server are left alone. */
    readonly appName: string;
  };
}

/** The server's `failCommand` fail point. */
export interface FailPoint {
  /** Null, or why this server has none: a real one allows it only with test commands enabled. */
  readonly refused: string | null;
  set(point: FailCommand): Promise<void>;
  off(): Promise<void>;
  close(): Promise<void>;
}

export async function openFailPoint(uri: string): Promise<FailPoint> {
  const client = await MongoClient.connect(uri, { appName: 'fail-points' });
  const admin = client.db('admin');
  const off = async () => {
    await admin.command({ configureFailPoint: 'failCommand', mode: 'off' });
  };
  const refused = await off().then(
    () => null,
    (error: Error) => `the server takes no fail points (enableTestCommands): ${error.message}`,
  );
  return {
    refused,
    off,
    async set(point) {
      await admin.command({ configureFailPoint: 'failCommand', ...point });
    },
    async close() {
      if (refused === null) await off();
      await client.close();
    },
  };
}
