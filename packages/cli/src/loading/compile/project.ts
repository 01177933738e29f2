import { dirname, join } from 'node:path';
import {
  createFilesMatcher,
  createPathsMatcher,
  getTsconfig,
  parseTsconfig,
  type TsConfigJsonResolved,
  type TsConfigResult,
} from 'get-tsconfig';
import { isInstalledFile } from './module-format.js';

/** What the tsconfig that governs a file means for running it. */
export interface ProjectOptions {
  /** Path of the tsconfig; undefined where the file has none. */
  readonly tsconfig: string | undefined;
  readonly compilerOptions: NonNullable<TsConfigJsonResolved['compilerOptions']>;
  /** `legacy` with `experimentalDecorators` and in projects without a tsconfig, else `standard` (TC39). */
  readonly decorators: 'legacy' | 'standard';
  /** Files that `paths` or `baseUrl` offer for a bare specifier, best first. */
  readonly pathsOf: (specifier: string) => string[];
}

const noProject: ProjectOptions = {
  tsconfig: undefined,
  compilerOptions: {},
  decorators: 'legacy',
  pathsOf: () => [],
};

/** A tsconfig that cannot be read; `file` is the source file that needed it. */
export class TsconfigError extends Error {
  readonly flowLoad = { kind: 'tsconfig' } as const;
  override readonly name = 'TsconfigError';
}

const byFolder = new Map<string, TsConfigResult | null>();
const optionsOf = new Map<TsConfigResult, ProjectOptions>();

/**
 * The options that govern a file: those of the nearest `tsconfig.json` above it, or, where that is a solution
 * file (`files: []` and `references`), of the first referenced project that includes the file.
 * @throws TsconfigError when the tsconfig or one that it extends cannot be read.
 */
export function projectOf(file: string): ProjectOptions {
  if (isInstalledFile(file)) return noProject;
  const nearest = nearestTsconfig(dirname(file), file);
  if (nearest === null) return noProject;
  const found = referencedProject(nearest, file) ?? nearest;
  const known = optionsOf.get(found);
  if (known !== undefined) return known;
  const options = toOptions(found);
  optionsOf.set(found, options);
  return options;
}

function nearestTsconfig(folder: string, file: string): TsConfigResult | null {
  const known = byFolder.get(folder);
  if (known !== undefined) return known;
  let found: TsConfigResult | null;
  try {
    found = getTsconfig(folder);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TsconfigError(`the tsconfig.json that governs ${file} cannot be read: ${reason}`);
  }
  byFolder.set(folder, found);
  return found;
}

function referencedProject(solution: TsConfigResult, file: string): TsConfigResult | undefined {
  const { files, include, references } = solution.config;
  if (references === undefined || files?.length !== 0 || include !== undefined) return undefined;
  for (const reference of references) {
    const target = join(dirname(solution.path), reference.path);
    const path = target.endsWith('.json') ? target : join(target, 'tsconfig.json');
    const known = byFolder.get(path);
    try {
      const project = known ?? { path, config: parseTsconfig(path) };
      byFolder.set(path, project);
      if (createFilesMatcher(project)(file) !== undefined) return project;
    } catch {
      // A reference to a project that is not checked out governs no file that is here.
    }
  }
  return undefined;
}

function toOptions(project: TsConfigResult): ProjectOptions {
  const compilerOptions = project.config.compilerOptions ?? {};
  const match = createPathsMatcher(project);
  return {
    tsconfig: project.path,
    compilerOptions,
    decorators: compilerOptions.experimentalDecorators === true ? 'legacy' : 'standard',
    pathsOf: (specifier) => match?.(specifier) ?? [],
  };
}
