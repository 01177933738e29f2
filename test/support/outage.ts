import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningServer, type ServerOptions, startServer } from '@flowline/devdb';
import type { TestDatabase } from './database.ts';

/** A development server of a test's own that goes away and comes back at the same address with its data. */
export interface OutageDatabase extends TestDatabase {
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
}

export async function openOutageDatabase(options: ServerOptions = {}): Promise<OutageDatabase> {
  const directory = mkdtempSync(join(tmpdir(), 'flow-outage-'));
  let server: RunningServer | undefined = await startServer({ ...options, directory });
  const { port, uri } = server;
  return {
    uri,
    databaseName: 'outage',
    async goAway() {
      await server?.close();
      server = undefined;
    },
    async comeBack() {
      server ??= await startServer({ ...options, directory, port });
    },
    async close() {
      await server?.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
