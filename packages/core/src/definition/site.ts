import { fileURLToPath } from 'node:url';

/** Where a decorator stands in the user's source. */
export interface Site {
  /** Absolute path. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

// `at name (file:1:2)`, `at file:///x.ts:1:2`, `at async C:\x.ts:1:2`
const framePattern = /(?:\(|at (?:async )?)((?:file:\/\/|\/|[A-Za-z]:[\\/])[^<>]*?):(\d+):\d+\)?$/;

/**
 * Where the function `below` was called from: the place of the decorator in the user's file. Reads the text of a
 * stack and not its call sites, since only the text is mapped back to TypeScript under `--enable-source-maps`.
 * Undefined when the frame has no file (eval, a REPL).
 */
export function captureSite(below: (...args: never[]) => unknown): Site | undefined {
  const limit = Error.stackTraceLimit;
  const holder: { stack?: string } = {};
  Error.stackTraceLimit = 1;
  try {
    Error.captureStackTrace(holder, below);
    return siteOfStack(holder.stack);
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/** The first frame of a stack's text that has a file; a query such as `?v=2` is cut off. */
export function siteOfStack(stack: string | undefined): Site | undefined {
  for (const line of (stack ?? '').split('\n')) {
    const match = framePattern.exec(line.trim());
    if (match === null) continue;
    const place = match[1]!.replace(/[?#].*$/, '');
    const file = place.startsWith('file://') ? fileURLToPath(place) : place;
    return { file, line: Number(match[2]) };
  }
  return undefined;
}

/** `jobs/sales.ts:12` for messages; the full path, since the compiler knows no working directory. */
export function describeSite(site: Site | undefined): string {
  return site === undefined ? 'an unknown place' : `${site.file}:${site.line}`;
}
