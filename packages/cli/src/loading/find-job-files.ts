import { readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, extname, relative, resolve, sep } from 'node:path';
import { ConfigError, UsageError } from '@flowline/core';
import { didYouMean } from '@flowline/core/internal';
import { glob, isDynamicPattern } from 'tinyglobby';

/** What a config without `jobs` means. */
export const defaultJobGlobs = ['**/*.job.ts', '**/jobs/**/*.ts'] as const;

const runnable = ['.ts', '.tsx', '.mts', '.cts', '.js', '.jsx', '.mjs', '.cjs'];
const neverJobs = ['**/node_modules/**', '**/*.d.ts', '**/*.d.mts', '**/*.d.cts'];
const testFiles = ['**/*.{test,spec}.*', '**/__tests__/**'];
const notSources = [...testFiles, '**/{dist,test,tests,coverage}/**'];

/**
 * The job files that paths on the command line mean: files, folders or globs, relative to `cwd`.
 * A folder means every source file in it but tests, built files and installed packages.
 * @returns absolute paths with links resolved, sorted, each once.
 * @throws UsageError naming every path that matches nothing.
 */
export async function findFilesOfPaths(paths: readonly string[], cwd: string): Promise<string[]> {
  const found: string[] = [];
  const faults: string[] = [];
  for (const path of paths) {
    const matches = await filesOfPath(path, cwd);
    if (typeof matches === 'string') faults.push(matches);
    else found.push(...matches);
  }
  if (faults.length > 0) {
    throw new UsageError(faults.join('\n'), {
      hint: `Paths are files, folders or quoted globs, relative to ${cwd}.`,
    });
  }
  return unique(found);
}

/**
 * The job files that the globs of a config mean, relative to its folder. Tests are left out unless a glob names them;
 * the default globs leave out built files too.
 * @throws ConfigError when nothing matches.
 */
export async function findFilesOfGlobs(
  globs: readonly string[] | undefined,
  root: string,
  configFile: string | undefined,
): Promise<string[]> {
  const patterns = globs ?? defaultJobGlobs;
  const asksForTests = patterns.some((pattern) => /test|spec/.test(pattern));
  const ignore = globs === undefined ? notSources : asksForTests ? [] : testFiles;
  const found = await find(patterns, root, ignore);
  if (found.length > 0) return unique(found);
  const where = configFile ?? root;
  const listed = patterns.map((pattern) => `'${pattern}'`).join(', ');
  throw new ConfigError(
    `${where}: expected ${globs === undefined ? 'the default globs' : 'jobs'} to match at least one file, found none for ${listed} below ${root}`,
    {
      hint: 'Name the files on the command line, set `jobs` in flow.config.ts, or start with "flow init".',
    },
  );
}

/** The matches of one path, or a sentence that says why there are none. */
async function filesOfPath(path: string, cwd: string): Promise<string[] | string> {
  const absolute = resolve(cwd, path);
  const stats = statSync(absolute, { throwIfNoEntry: false });
  if (stats?.isFile()) {
    if (runnable.includes(extname(absolute)) && !/\.d\.[cm]?ts$/.test(absolute)) return [absolute];
    return `${path}: expected a TypeScript or JavaScript file (${runnable.join(' ')}), found "${basename(path)}"`;
  }
  if (stats?.isDirectory()) {
    const pattern = `**/*.{${runnable.map((extension) => extension.slice(1)).join(',')}}`;
    const found = withoutCompiledTwins(await find([pattern], absolute, notSources));
    if (found.length > 0) return found;
    return `${path}: expected job files in this folder, found no TypeScript or JavaScript file but tests and built files`;
  }
  if (isDynamicPattern(path)) {
    const found = (await find([path], cwd, [])).filter((file) => runnable.includes(extname(file)));
    return found.length > 0 ? found : `${path}: expected a glob that matches files, found no match`;
  }
  return `${path}: expected a file, folder or glob, found no such path${nearby(absolute)}`;
}

async function find(
  patterns: readonly string[],
  cwd: string,
  ignore: readonly string[],
): Promise<string[]> {
  return glob(
    patterns.map((pattern) => (sep === '\\' ? pattern.replaceAll('\\', '/') : pattern)),
    { cwd, absolute: true, ignore: [...neverJobs, ...ignore], expandDirectories: false },
  );
}

/** Without `a.js` where `a.ts` stands beside it: that is the same job, compiled in place. */
function withoutCompiledTwins(files: readonly string[]): string[] {
  const all = new Set(files);
  return files.filter((file) => {
    const twin = file.replace(/\.([cm]?)js(x?)$/, '.$1ts$2');
    return twin === file || !(all.has(twin) || all.has(twin.replace(/\.ts$/, '.tsx')));
  });
}

function nearby(missing: string): string {
  try {
    const close = didYouMean(basename(missing), readdirSync(dirname(missing)));
    return close === undefined ? '' : ` (did you mean "${close}"?)`;
  } catch {
    return ` (there is no folder ${relative(process.cwd(), dirname(missing)) || dirname(missing)} either)`;
  }
}

function unique(files: readonly string[]): string[] {
  return [...new Set(files.map((file) => realpathSync(file)))].sort();
}
