import { type ConnectOptions, connectStore, type Store } from '@flowline/core/internal';
import type { CommandContext, GlobalFlags } from '../command-line/command.js';
import type { Settings } from '../config/resolve-settings.js';
import { openDatabase } from './open-database.js';
import { settingsOf } from './settings-of.js';

/** What a command works with: the settings, and the store. */
export interface Session {
  readonly settings: Settings;
  readonly connection: ConnectOptions;
  readonly store: Store;
}

/**
 * Opens the database that the flags, the environment and the config name, and closes it when `use` is over. Collections and
 * indexes are made first, unless `prepare` is false.
 */
export async function withSession<T>(
  flags: GlobalFlags,
  context: CommandContext,
  use: (session: Session) => Promise<T>,
  { prepare = true }: { readonly prepare?: boolean } = {},
): Promise<T> {
  const settings = await settingsOf(flags, context);
  const database = await openDatabase(settings);
  try {
    const store = await connectStore(database.connection);
    try {
      if (prepare) await store.prepare();
      return await use({ settings, connection: database.connection, store });
    } finally {
      await store.close();
    }
  } finally {
    await database.close();
  }
}
