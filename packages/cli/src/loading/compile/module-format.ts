import { existsSync, readFileSync } from 'node:fs';
import { dirname, extname, join, sep } from 'node:path';

/** How Node runs a file. */
export type ModuleFormat = 'module' | 'commonjs';

/** Extensions that Node cannot run by itself and that the loader compiles. */
export const compiledExtensions = ['.ts', '.tsx', '.mts', '.cts', '.jsx'] as const;

/** True for a file that the loader compiles; declaration files hold no code and are not. */
export function isCompiledFile(file: string): boolean {
  return (
    (compiledExtensions as readonly string[]).includes(extname(file)) && !/\.d\.[cm]?ts$/.test(file)
  );
}

/** True for a file of an installed dependency, which no tsconfig of the user's speaks about. */
export function isInstalledFile(file: string): boolean {
  return file.includes(`${sep}node_modules${sep}`);
}

/**
 * The format that a file's extension or its nearest package.json asks for; undefined where neither says,
 * which Node reads as "look at the syntax".
 */
export function declaredFormat(file: string): ModuleFormat | undefined {
  const extension = extname(file);
  if (extension === '.mts' || extension === '.mjs') return 'module';
  if (extension === '.cts' || extension === '.cjs') return 'commonjs';
  return packageFormat(dirname(file));
}

const formats = new Map<string, ModuleFormat | undefined>();

function packageFormat(folder: string): ModuleFormat | undefined {
  if (formats.has(folder)) return formats.get(folder);
  const manifest = join(folder, 'package.json');
  let format: ModuleFormat | undefined;
  if (existsSync(manifest)) format = readType(manifest);
  else if (dirname(folder) !== folder) format = packageFormat(dirname(folder));
  formats.set(folder, format);
  return format;
}

function readType(manifest: string): ModuleFormat | undefined {
  try {
    const { type } = JSON.parse(readFileSync(manifest, 'utf8')) as { type?: unknown };
    return type === 'module' || type === 'commonjs' ? type : undefined;
  } catch {
    // Node itself reports an unreadable package.json, with its path, as soon as it resolves through it.
    return undefined;
  }
}
