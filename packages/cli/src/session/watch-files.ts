import { type FSWatcher, watch } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';

/** Editors write a file in several steps; one change is told once they have been quiet for this long. */
const quietMs = 150;

export interface FileWatch {
  /** The first change after the start, relative to the working directory. */
  readonly changed: Promise<string>;
  /** Watches these files, and their folders for new ones beside them. */
  add(files: readonly string[]): void;
  close(): void;
}

/** Watches the files of a project for `flow dev`. Only code counts: what jobs write must not restart them. */
export function watchFiles(cwd: string): FileWatch {
  const watchers = new Map<string, FSWatcher>();
  let quiet: NodeJS.Timeout | undefined;
  let tell: (file: string) => void = () => {};
  const changed = new Promise<string>((resolvePromise) => {
    tell = resolvePromise;
  });
  const watchFolder = (folder: string) => {
    if (watchers.has(folder)) return;
    try {
      const watcher = watch(folder, (_event, name) => {
        if (name === null || !/\.[cm]?[jt]sx?$/.test(name)) return;
        clearTimeout(quiet);
        quiet = setTimeout(() => tell(relative(cwd, resolve(folder, name))), quietMs);
      });
      watcher.on('error', () => watchers.delete(folder));
      watchers.set(folder, watcher);
    } catch {
      // A folder that is gone is not watched; its files come back with the next start.
    }
  };
  watchFolder(cwd);
  return {
    changed,
    add(files) {
      for (const file of files) watchFolder(dirname(file));
    },
    close() {
      clearTimeout(quiet);
      for (const watcher of watchers.values()) watcher.close();
    },
  };
}
