import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ConfigError } from '@flowline/core';

/** The names under which a config is found, by folder at most one of them. */
export const configNames = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs', 'json'].map(
  (extension) => `flow.config.${extension}`,
);

/**
 * The config that governs a folder: the one in it, else in the nearest folder above. Undefined where there is none.
 * @throws ConfigError where one folder has two, since nobody could know which one counts.
 */
export function findConfig(folder: string): string | undefined {
  const found = configNames.map((name) => join(folder, name)).filter((file) => existsSync(file));
  if (found.length > 1) {
    throw new ConfigError(
      `${folder}: expected one config, found ${found.map((file) => basename(file)).join(' and ')}`,
      { hint: 'Delete one of them, or name the one to use with --config.' },
    );
  }
  if (found[0] !== undefined) return found[0];
  const above = dirname(folder);
  return above === folder ? undefined : findConfig(above);
}
