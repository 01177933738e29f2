import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { didYouMean } from '@flowline/core/internal';
import { codeFrame } from '../compile/source-syntax-error.js';
import { isPathSpecifier, missingCodes } from '../hooks/resolve-source.js';
import { displayPath, type Explanation, type FailureContext } from './explanation.js';
import { readSource, scanImports } from './scan-imports.js';

const codes = [...missingCodes, 'ERR_PACKAGE_PATH_NOT_EXPORTED'];

/** An import that leads nowhere: a path with a slip of the pen, a package that is not installed or not built. */
export function explainMissingModule(
  error: unknown,
  { entry, root }: FailureContext,
): Explanation | undefined {
  const { code, message } = (error ?? {}) as { code?: string; message?: string };
  if (code === undefined || message === undefined || !codes.includes(code)) return undefined;
  const importer = importerOf(error, message) ?? entry;
  const source = readSource(importer);
  const missing = /'([^']+)'/.exec(message)?.[1] ?? '';
  const imports = scanImports(source);
  const found =
    imports.find(({ specifier }) => specifier === missing) ??
    imports.find(
      ({ specifier }) =>
        isPathSpecifier(specifier) && sameStem(resolve(dirname(importer), specifier), missing),
    ) ??
    imports.find(({ specifier }) => packageOf(specifier) === missing) ??
    imports.find(({ specifier }) => missing.includes(`/node_modules/${packageOf(specifier)}/`));
  if (found === undefined) {
    return { code: 'load-not-found', message: firstLine(message), file: importer };
  }
  const { specifier, line } = found;
  const column = (source.split('\n')[line - 1] ?? '').search(/\S/) + 1;
  const place = { file: importer, line, column, frame: codeFrame(source, line, column) };
  if (isPathSpecifier(specifier)) {
    const close = nearby(resolve(dirname(importer), specifier));
    return {
      code: 'load-not-found',
      message: `imports '${specifier}', and there is no such file or source of it`,
      ...(close === undefined ? {} : { hint: `Did you mean '${close}'?` }),
      ...place,
    };
  }
  return { ...explainPackage(specifier, missing, message, root), ...place };
}

function explainPackage(specifier: string, missing: string, message: string, root: string) {
  const name = packageOf(specifier);
  if (existsSync(missing) || missing.startsWith('/') || /^[A-Za-z]:\\/.test(missing)) {
    return {
      code: 'load-not-found',
      message: `imports '${specifier}', and the package.json of ${name} leads to ${displayPath(missing, root)}, which does not exist`,
      hint: `Build ${name} first, or let its "exports" point to its source.`,
    };
  }
  if (message.includes('exports')) {
    return { code: 'load-not-found', message: `imports '${specifier}': ${firstLine(message)}` };
  }
  return {
    code: 'load-not-found',
    message: `imports '${specifier}', and no package ${name} is installed`,
    hint: `Install it (npm install ${name}), or map it under "paths" in the tsconfig.json.`,
  };
}

function importerOf(error: unknown, message: string): string | undefined {
  const imported = /imported from (.+?)(?:\n|$)/.exec(message)?.[1];
  if (imported !== undefined) {
    return imported.startsWith('file:') ? fileURLToPath(imported) : imported;
  }
  const { requireStack } = error as { requireStack?: string[] };
  return requireStack?.[0];
}

/** `@a/b/c` -> `@a/b`, `a/b` -> `a`. */
function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function sameStem(left: string, right: string): boolean {
  const stem = (path: string) => path.replace(/\.[cm]?[jt]sx?$/, '');
  return stem(left) === stem(right);
}

function nearby(path: string): string | undefined {
  try {
    const stem = (name: string) => name.replace(/\.[cm]?[jt]sx?$/, '');
    const names = readdirSync(dirname(path));
    const close = didYouMean(stem(basename(path)), names.map(stem));
    return names.find((name) => stem(name) === close);
  } catch {
    return undefined;
  }
}

function firstLine(message: string): string {
  return message.split('\n')[0] ?? message;
}
