import { isDecorated, readGraph, takeDecoratedClasses } from '@flowline/core/internal';
import { explainFailure } from './explain/explain-failure.js';
import { displayPath, type LoadProblem } from './explain/explanation.js';
import { findFilesOfGlobs, findFilesOfPaths } from './find-job-files.js';
import { importFile } from './import-file.js';

/** What to load. */
export interface LoadRequest {
  /** Files, folders or globs from the command line, relative to `cwd`. They replace the globs of the config. */
  readonly paths?: readonly string[] | undefined;
  /** Default: the working directory of the process. */
  readonly cwd?: string | undefined;
  /** Folder that the globs are relative to: that of the config. Default: `cwd`. */
  readonly root?: string | undefined;
  /** The globs of the config. Default: `defaultJobGlobs`. */
  readonly jobs?: readonly string[] | undefined;
  /** For messages. */
  readonly configFile?: string | undefined;
}

export interface LoadedJobs {
  /** Every class that a file exports or defines with a decorator of Flowline, each once. */
  readonly classes: readonly object[];
  /** The job files, absolute, sorted; without the files that they import (see loadedFiles). */
  readonly files: readonly string[];
  /** What could not be loaded; the other files were loaded all the same. */
  readonly problems: readonly LoadProblem[];
}

/** All classes that were decorated while job files loaded: a module runs once, and so do its decorators. */
const decorated = new Set<object>();

/**
 * Loads the job files of a project and collects their classes. One file after the other, in the order of their paths,
 * so that the same code fails in the same way everywhere.
 *
 * A file that does not load becomes a problem, the rest is loaded all the same.
 * @throws UsageError for paths that match nothing, ConfigError for globs that match nothing.
 */
export async function loadJobs(request: LoadRequest = {}): Promise<LoadedJobs> {
  const cwd = request.cwd ?? process.cwd();
  const root = request.root ?? cwd;
  const files =
    request.paths === undefined || request.paths.length === 0
      ? await findFilesOfGlobs(request.jobs, root, request.configFile)
      : await findFilesOfPaths(request.paths, cwd);
  const exported: unknown[] = [];
  const problems = new Map<string, LoadProblem>();
  // Forget what was decorated elsewhere, such as by a config that imports a job.
  takeDecoratedClasses();
  for (const file of files) {
    try {
      exported.push(...Object.values(await importFile(file)));
    } catch (error) {
      const problem = explainFailure(error, { entry: file, root });
      // Several job files may import the one that is broken.
      problems.set(
        JSON.stringify([
          problem.code,
          problem.file,
          problem.line,
          problem.stack ?? problem.message,
        ]),
        problem,
      );
    }
  }
  const classes = new Set([
    ...(exported.filter(isDecorated) as object[]),
    ...takeNew(),
    ...definedIn(new Set(files)),
  ]);
  if (classes.size === 0 && problems.size === 0) {
    const names = files.map((file) => displayPath(file, root));
    const shown = names.length > 5 ? `${names.slice(0, 5).join(', ')}, ...` : names.join(', ');
    problems.set('none', {
      code: 'load-no-jobs',
      severity: 'error',
      path: names[0] ?? root,
      message: `expected a class with @Job in ${files.length === 1 ? 'this file' : `these ${files.length} files`}, found none: ${shown}`,
      hint: 'Put @Job() on a class with a run method.',
    });
  }
  return { classes: [...classes], files, problems: [...problems.values()] };
}

/** The classes that were decorated since the load began, exported or not. */
function takeNew(): object[] {
  const taken = takeDecoratedClasses();
  for (const each of taken) decorated.add(each);
  return taken;
}

/** Classes of these files that an earlier load has run already. */
function definedIn(files: ReadonlySet<string>): object[] {
  const { dags, jobs } = readGraph(decorated);
  return [...dags, ...jobs].flatMap(({ target, site }) =>
    site !== undefined && files.has(site.file) ? target : [],
  );
}
