import { readFileSync, realpathSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, extname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isCompiledFile, isInstalledFile } from '../compile/module-format.js';
import { projectOf } from '../compile/project.js';

/** TypeScript names the file that a compiler would write: `./a.js` may stand for `./a.ts`. */
const sourcesOf: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts', '.tsx'],
  '.jsx': ['.tsx', '.jsx'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
};

/** Tried in this order behind a path without an extension. */
const impliedExtensions = [
  '.ts',
  '.tsx',
  '.mts',
  '.cts',
  '.js',
  '.jsx',
  '.mjs',
  '.cjs',
  '.json',
] as const;

/** True for `./a`, `../a`, `.`, `..` and absolute paths. */
export function isPathSpecifier(specifier: string): boolean {
  return /^\.{1,2}(\/|$)/.test(specifier) || isAbsolute(specifier);
}

/**
 * The file that an import means by the rules of TypeScript: extensionless and `.js` imports of sources, and the
 * `paths` and `baseUrl` of the importing file's tsconfig. Undefined where Node's own rules should decide.
 */
export function resolveSource(specifier: string, importer: string): string | undefined {
  if (isPathSpecifier(specifier)) {
    return probe(resolve(dirname(importer), specifier), isCompiledFile(importer));
  }
  if (isInstalledFile(importer) || isBuiltin(specifier)) return undefined;
  for (const candidate of projectOf(importer).pathsOf(specifier)) {
    const found = probe(candidate, true);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * The source file that stands for a path, with links resolved as Node does.
 * @param preferSource whether `a.ts` wins where both `a.js` and `a.ts` are there, as it does for the compiler.
 */
export function probe(path: string, preferSource: boolean): string | undefined {
  const found = probeFile(path, preferSource) ?? probeFolder(path, preferSource);
  return found === undefined ? undefined : realpathSync(found);
}

/**
 * The source that stands for a file which Node's own resolution found missing: a package whose `exports`, `imports` or
 * `main` names the `.js` file that a build would write. Undefined for other errors.
 */
export function sourceOfMissing(error: unknown): string | undefined {
  const { code, url, message } = (error ?? {}) as { code?: string; url?: string; message?: string };
  if (code === undefined || !missingCodes.includes(code)) return undefined;
  const missing = url?.startsWith('file:')
    ? fileURLToPath(url)
    : /Cannot find (?:module|package) '(\/[^']+|[A-Za-z]:\\[^']+)'/.exec(message ?? '')?.[1];
  return missing === undefined ? undefined : probe(missing, true);
}

/** Error codes of Node for "there is no such module". */
export const missingCodes: readonly string[] = [
  'ERR_MODULE_NOT_FOUND',
  'ERR_UNSUPPORTED_DIR_IMPORT',
  'MODULE_NOT_FOUND',
];

function probeFile(path: string, preferSource: boolean): string | undefined {
  const extension = extname(path);
  const stem = path.slice(0, path.length - extension.length);
  const sources = (sourcesOf[extension] ?? []).map((source) => stem + source);
  const named = preferSource ? [...sources, path] : [path, ...sources];
  return [...named, ...impliedExtensions.map((implied) => path + implied)].find(isFile);
}

function probeFolder(path: string, preferSource: boolean): string | undefined {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return undefined;
  const main = mainOf(join(path, 'package.json'));
  const fromMain = main === undefined ? undefined : probeFile(join(path, main), preferSource);
  return fromMain ?? probeFile(join(path, 'index'), preferSource);
}

function mainOf(manifest: string): string | undefined {
  if (!isFile(manifest)) return undefined;
  const { main } = JSON.parse(readFileSync(manifest, 'utf8')) as { main?: unknown };
  return typeof main === 'string' ? main : undefined;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
