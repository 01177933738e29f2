import type { GlobalFlags } from '../command-line/command.js';
import { loadConfig } from '../config/load-config.js';
import { resolveSettings, type Settings } from '../config/resolve-settings.js';

/** The settings of a command: flags over environment over flow.config.ts over defaults. */
export async function settingsOf(
  flags: GlobalFlags,
  { cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<Settings> {
  const loaded = await loadConfig({ cwd, path: flags.config });
  const { mongodbUri, database, dataDir, logLevel } = flags;
  return resolveSettings({ mongodbUri, database, dataDir, logLevel }, env, loaded);
}
