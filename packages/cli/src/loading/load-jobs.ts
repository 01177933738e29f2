import { isDecorated, takeDecoratedClasses } from '@flowline/core/internal';
import { explainFailure } from './explain-failure.js';
import { displayPath, type LoadProblem } from './explanation.js';
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

/** What each file defined when it was first loaded: a module runs once, and so does its decorator. */
const defined = new Map<string, readonly object[]>();

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
  const classes = new Set<object>();
  const problems = new Map<string, LoadProblem>();
  for (const file of files) {
    try {
      for (const each of await classesOf(file)) classes.add(each);
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

async function classesOf(file: string): Promise<object[]> {
  // Forget what was decorated elsewhere, such as by a config that imports a job.
  takeDecoratedClasses();
  const exported = Object.values(await importFile(file)).filter(isDecorated) as object[];
  const known = defined.get(file) ?? takeDecoratedClasses();
  defined.set(file, known);
  return [...exported, ...known];
}
