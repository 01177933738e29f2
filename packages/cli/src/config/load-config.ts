import { existsSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { isModuleNamespaceObject } from 'node:util/types';
import { ConfigError } from '@flowline/core';
import { explainFailure } from '../loading/explain/explain-failure.js';
import { importFile } from '../loading/import-file.js';
import { checkConfig } from './check-config.js';
import type { FlowConfig } from './define-config.js';
import { findConfig } from './find-config.js';

/** A config and where it came from. */
export interface LoadedConfig {
  /** Absolute path; undefined where the project has no config. */
  readonly file: string | undefined;
  /** The folder of the config, else the working directory: what globs and `dataDir` are relative to. */
  readonly root: string;
  /** What flags and environment variables are relative to. */
  readonly cwd: string;
  readonly config: FlowConfig;
  /** The project's name where the config gives none: that of the package, else of the folder. */
  readonly defaultProject: string;
}

export interface ConfigRequest {
  /** The `--config` flag, relative to `cwd`. Default: the nearest config in `cwd` and above. */
  readonly path?: string | undefined;
  readonly cwd: string;
}

/**
 * Finds, loads and checks the config. A project without one gets an empty config, unless `path` asks for a file.
 * @throws ConfigError when the file is missing, does not load, or says something that cannot be right.
 */
export async function loadConfig({ path, cwd }: ConfigRequest): Promise<LoadedConfig> {
  const file = path === undefined ? findConfig(cwd) : namedConfig(path, cwd);
  if (file === undefined) {
    return { file, root: cwd, cwd, config: {}, defaultProject: packageName(cwd) ?? basename(cwd) };
  }
  const root = dirname(file);
  const value = extname(file) === '.json' ? await readJson(file) : await importConfig(file);
  const config = checkConfig(value, file);
  return { file, root, cwd, config, defaultProject: packageName(root) ?? basename(root) };
}

function namedConfig(path: string, cwd: string): string {
  const file = resolve(cwd, path);
  if (statSync(file, { throwIfNoEntry: false })?.isFile()) return file;
  throw new ConfigError(`--config ${path}: expected a file, found none at ${file}`, {
    hint: 'The path is relative to the working directory.',
  });
}

async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8');
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new ConfigError(`${file}: expected JSON, found ${(error as Error).message}`, {
      cause: error,
    });
  }
}

async function importConfig(file: string): Promise<unknown> {
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = await importFile(file);
  } catch (error) {
    const problem = explainFailure(error, { entry: file, root: dirname(file) });
    const place = problem.line === undefined ? '' : `:${problem.line}:${problem.column ?? 1}`;
    const detail = [problem.frame, problem.stack].filter((part) => part !== undefined);
    throw new ConfigError(
      [`${problem.file ?? file}${place}: ${problem.message}`, ...detail].join('\n'),
      { cause: error, ...(problem.hint === undefined ? {} : { hint: problem.hint }) },
    );
  }
  if (!('default' in exported)) {
    // `module.exports = {}` and `export = {}` are the config themselves; modules have names instead of a default.
    if (!isModuleNamespaceObject(exported) && exported.__esModule !== true) return exported;
    throw new ConfigError(
      `${file}: expected a default export, found ${Object.keys(exported).join(', ') || 'none'}`,
      { hint: 'Write "export default defineConfig({ ... })".' },
    );
  }
  // A default export that was compiled to CommonJS arrives wrapped once more.
  const value = exported.default as { __esModule?: unknown; default?: unknown } | undefined;
  return value?.__esModule === true && 'default' in value ? value.default : value;
}

/** The name in the package.json of a folder, else of the nearest folder above that has a package.json. */
function packageName(folder: string): string | undefined {
  const manifest = join(folder, 'package.json');
  if (existsSync(manifest)) {
    try {
      const { name } = JSON.parse(readFileSync(manifest, 'utf8')) as { name?: unknown };
      return typeof name === 'string' && name !== '' ? name : undefined;
    } catch (error) {
      throw new ConfigError(`${manifest}: expected JSON, found ${(error as Error).message}`);
    }
  }
  return dirname(folder) === folder ? undefined : packageName(dirname(folder));
}
