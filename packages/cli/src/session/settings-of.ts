import type { CommandContext, GlobalFlags } from '../command-line/command.js';
import { loadConfig } from '../config/load-config.js';
import { resolveSettings, type Settings } from '../config/resolve-settings.js';
import { note } from '../terminal/terminal.js';

const told = new WeakMap<object, Set<string>>();

/**
 * The settings of a command: flags over environment over flow.config.ts over defaults. What looks like a mistake is
 * said on stderr, once.
 */
export async function settingsOf(
  flags: GlobalFlags,
  { cwd, env, terminal }: Pick<CommandContext, 'cwd' | 'env' | 'terminal'>,
): Promise<Settings> {
  const loaded = await loadConfig({ cwd, path: flags.config });
  const { mongodbUri, database, dataDir, logLevel } = flags;
  const settings = resolveSettings({ mongodbUri, database, dataDir, logLevel }, env, loaded);
  const already = told.get(terminal) ?? new Set();
  told.set(terminal, already);
  for (const warning of settings.warnings) {
    if (!already.has(warning)) note(terminal, `${terminal.colors.yellow('warning')}: ${warning}`);
    already.add(warning);
  }
  return settings;
}
