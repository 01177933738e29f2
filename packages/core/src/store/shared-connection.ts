import type { ConnectOptions, ConnectSources } from './connect.js';
import { createClient, databaseOf } from './connect.js';
import { ConnectionWatch } from './connection-watch.js';
import { createContext } from './context.js';
import { converting } from './driver-errors.js';
import { createMongoStore } from './mongo-store.js';
import type { Store } from './store.js';

/** Many stores on one connection: each with nothing remembered, as a process that has just started. For tests. */
export interface SharedConnection {
  /** A store with caches and a clock of its own. Its `close` does nothing: the connection is shared. */
  open(sources?: ConnectSources): Store;
  close(): Promise<void>;
}

/** Connects once. Throws as connectStore does. */
export async function shareConnection(options: ConnectOptions): Promise<SharedConnection> {
  const client = createClient(options);
  await converting(() => client.connect());
  const db = client.db(databaseOf(options));
  const watch = new ConnectionWatch(client, () => performance.now()).start();
  return {
    open: (sources = {}) =>
      Object.assign(createMongoStore(createContext(client, db, { ...sources, watch })), {
        close: async () => {},
      }),
    close: () => watch.stop(),
  };
}
