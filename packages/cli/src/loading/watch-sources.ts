/**
 * Tells `flow dev` when the sources of a project change.
 *
 * What was loaded cannot be loaded again in one process: Node's ES module cache has no way out, and a `?v=2` behind the
 * name reaches neither the modules that a file imports nor CommonJS, and keeps every old class alive. So a change means
 * a fresh process; this file only says when.
 */
import { createHash } from 'node:crypto';
import { type FSWatcher, readdirSync, readFileSync, statSync, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export interface SourceWatch {
  /** Resolves to the path of the first file that changed. */
  readonly changed: Promise<string>;
  /** Watches these files, as they are on disk now, and their folders for new ones beside them. */
  add(files: readonly string[]): void;
  close(): void;
}

/** Editors write a file in several steps; a change is told once they have been quiet for this long. */
const defaultQuietMs = 150;

/** Stands for the digest of a file that is not there. */
const gone = 'gone';

const skippedFolders = ['node_modules', 'dist', 'build', 'out', 'coverage'];

/**
 * Watches the source files below a folder, and those added. Start it before the sources are loaded: a file that is
 * written between loading and `add` counts as changed then. Writing the same bytes again is no change, and what jobs
 * write (data, reports, logs) is no source.
 */
export function watchSources(
  root: string,
  { quietMs = defaultQuietMs }: { readonly quietMs?: number } = {},
): SourceWatch {
  const startedAt = Date.now();
  const watchers = new Map<string, FSWatcher>();
  const contents = new Map<string, string>();
  const touched = new Set<string>();
  let quiet: NodeJS.Timeout | undefined;
  let tell: (file: string) => void = () => {};
  const changed = new Promise<string>((resolve) => {
    tell = resolve;
  });

  function touch(file: string): void {
    touched.add(file);
    clearTimeout(quiet);
    quiet = setTimeout(judge, quietMs);
  }

  /** Only now, since a file that is being written is empty for a moment. */
  function judge(): void {
    const files = [...touched].flatMap((path) => {
      if (!isFolder(path)) return hasChanged(path) ? path : [];
      // A folder that came just now may hold files whose events were missed.
      return watchers.has(path) || isSkipped(basename(path)) ? [] : watchTree(path);
    });
    touched.clear();
    if (files[0] !== undefined) tell(files[0]);
  }

  function hasChanged(file: string): boolean {
    const known = contents.get(file);
    if (known === undefined && !isSource(basename(file))) return false;
    const now = digest(file);
    // What came and went, as an editor's temporary files do, was never loaded.
    if (known === undefined && now === gone) return false;
    contents.set(file, now);
    return known !== now;
  }

  /** Watches one folder. A folder that cannot be watched is left out: its loaded files are found at the next start. */
  function watchFolder(folder: string): void {
    if (watchers.has(folder)) return;
    try {
      const watcher = watch(folder, (_event, name) => {
        if (name !== null) touch(join(folder, name));
      });
      watcher.on('error', () => {
        watcher.close();
        watchers.delete(folder);
      });
      watchers.set(folder, watcher);
    } catch {
      // Gone in the meantime, or the system's limit of watches is reached.
    }
  }

  /** Watches a folder and those below it; answers the sources in them. */
  function watchTree(folder: string): string[] {
    watchFolder(folder);
    return entriesOf(folder).flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return isSkipped(entry.name) ? [] : watchTree(path);
      return isSource(entry.name) ? [path] : [];
    });
  }

  watchTree(root);
  return {
    changed,
    add(files) {
      for (const file of files) {
        if (contents.has(file)) continue;
        contents.set(file, digest(file));
        // The config may stand above the folder that one works in, and its globs reach from there.
        if (/^flow\.config\.\w+$/.test(basename(file))) watchTree(dirname(file));
        else watchFolder(dirname(file));
        const written = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
        if (written !== undefined && written <= startedAt) continue;
        contents.set(file, 'older');
        touch(file);
      }
    },
    close() {
      clearTimeout(quiet);
      for (const watcher of watchers.values()) watcher.close();
      watchers.clear();
    },
  };
}

/** Code, and the files that say how code is found and compiled. Tests are not loaded, so they do not count. */
function isSource(name: string): boolean {
  if (name.startsWith('.') || /\.(test|spec)\.\w+$/.test(name) || /\.d\.[cm]?ts$/.test(name))
    return false;
  return /\.[cm]?[jt]sx?$/.test(name) || /^(tsconfig.*|package|flow\.config)\.json$/.test(name);
}

function isSkipped(folder: string): boolean {
  return folder.startsWith('.') || skippedFolders.includes(folder);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Of the bytes of a file; the same for every file that is not there. */
function digest(file: string): string {
  try {
    return createHash('sha1').update(readFileSync(file)).digest('hex');
  } catch {
    return gone;
  }
}
