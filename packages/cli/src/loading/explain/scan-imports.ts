import { readFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { isInstalledFile } from '../compile/module-format.js';
import { resolveSource } from '../hooks/resolve-source.js';

/** One `import ... from`, `export ... from`, `import x = require()` or `require()` of a file. */
export interface ScannedImport {
  readonly specifier: string;
  /** What stands between the keyword and `from`; empty for a bare import. */
  readonly clause: string;
  /** Line of the statement's first word, from 1. */
  readonly line: number;
  /** Position of the clause in the source. */
  readonly clauseAt: number;
}

const statement =
  /^[ \t]*(import|export)\s+(?!type\b)([^'"`;]*?)\s*(?:\bfrom\s*|=\s*require\(\s*)?(['"])([^'"]+)\3/gm;
const call = /\b(?:require|import)\(\s*(['"])([^'"]+)\1\s*\)/g;

/**
 * The imports of a source text that are there at run time, found by their look. Good enough to explain a failure;
 * never used to decide what runs.
 */
export function scanImports(source: string): ScannedImport[] {
  const text = blankComments(source);
  const found: ScannedImport[] = [];
  for (const match of text.matchAll(statement)) {
    const [whole, , clause = '', , specifier = ''] = match;
    const clauseAt = match.index + whole.indexOf(clause);
    found.push({ specifier, clause, line: lineAt(text, match.index), clauseAt });
  }
  for (const match of text.matchAll(call)) {
    const line = lineAt(text, match.index);
    found.push({ specifier: match[2] ?? '', clause: '', line, clauseAt: match.index });
  }
  return found;
}

/** The file that an import leads to; undefined for built-in modules, installed packages and what does not resolve. */
export function followImport(specifier: string, importer: string): string | undefined {
  if (isBuiltin(specifier)) return undefined;
  const source = resolveSource(specifier, importer);
  if (source !== undefined) return source;
  try {
    const file = createRequire(importer).resolve(specifier);
    return isInstalledFile(file) ? undefined : file;
  } catch {
    return undefined;
  }
}

/** The source of a file, or nothing where it cannot be read. */
export function readSource(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** The line, from 1, of a position in a text. */
export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

/** True where a clause such as `{ A as B, C }` names `name`, on either side of an `as`. */
export function namesInClause(clause: string, name: string): boolean {
  return new RegExp(`(?<![\\w$])${name.replaceAll('$', '\\$')}(?![\\w$])`).test(clause);
}

/** Comments become blanks of the same length, so that positions stay. */
function blankComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\/|^[ \t]*\/\/.*$/gm, (comment) =>
    comment.replace(/[^\n]/g, ' '),
  );
}
