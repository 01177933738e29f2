import { relative, sep } from 'node:path';
import type { Problem } from '@flowline/core';

/** A problem of loading. `path` is the file relative to the project's root. */
export interface LoadProblem extends Problem {
  /** From 1. */
  readonly column?: number;
  /** The source around the position, with a caret. */
  readonly frame?: string;
  /** The user's stack, without frames of Node and of the loader; only where their code threw. */
  readonly stack?: string;
}

/** What an explainer has to say; the rest of a LoadProblem is filled in for all of them alike. */
export interface Explanation {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  readonly frame?: string;
  readonly stack?: string;
}

export interface FailureContext {
  /** The job file whose loading failed; the fault may be in a file that it imports. */
  readonly entry: string;
  /** Folder that paths in messages are relative to. */
  readonly root: string;
}

/** A path as messages show it: relative to the root where it lies below it, with forward slashes. */
export function displayPath(file: string, root: string): string {
  const path = relative(root, file);
  return path.startsWith('..') || path === '' ? file : path.split(sep).join('/');
}
