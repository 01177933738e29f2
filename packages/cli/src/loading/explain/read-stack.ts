import { fileURLToPath } from 'node:url';
import { isInstalledFile } from '../compile/module-format.js';

/** One line of a stack, with its position in the source. */
export interface StackFrame {
  readonly text: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** True for code outside of any function. */
  readonly isTopLevel: boolean;
}

const frameLine = /^\s*at (?:(.*) \()?((?:file:\/\/|\/|[A-Za-z]:\\).*?):(\d+):(\d+)\)?$/;

/** The frames of an error that have a file, innermost first; positions are those of the source where it has a map. */
export function readStack(error: unknown): StackFrame[] {
  const stack = (error as { stack?: unknown } | null)?.stack;
  if (typeof stack !== 'string') return [];
  return stack.split('\n').flatMap((text) => {
    const [, name = '<anonymous>', place, line, column] = frameLine.exec(text) ?? [];
    if (place === undefined) return [];
    return {
      text,
      file: place.startsWith('file:') ? fileURLToPath(place) : place,
      line: Number(line),
      column: Number(column),
      isTopLevel: name === '<anonymous>' || name === 'Object.<anonymous>',
    };
  });
}

/** Those frames that stand in files of the user's: not installed, and not Flowline itself (in its own monorepo). */
export function userFrames(frames: readonly StackFrame[]): StackFrame[] {
  return frames.filter(({ file }) => isUserFile(file));
}

/** The stack of an error without the frames of Node, installed packages and the loader; undefined if nothing is left. */
export function userStack(error: unknown): string | undefined {
  const frames = userFrames(readStack(error));
  if (frames.length === 0 || !(error instanceof Error)) return undefined;
  return [`${error.name}: ${error.message}`, ...frames.map((frame) => frame.text)].join('\n');
}

function isUserFile(file: string): boolean {
  return !isInstalledFile(file) && !ownFolders().some((folder) => file.startsWith(folder));
}

/** `dist` of this package and of the core that it uses; they are installed packages everywhere but in our own repository. */
function ownFolders(): string[] {
  return [
    new URL('../../', import.meta.url),
    new URL('./', import.meta.resolve('@flowline/core')),
  ].map((url) => fileURLToPath(url));
}
