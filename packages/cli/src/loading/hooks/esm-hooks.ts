/**
 * Node's module hooks: what `import` finds and how it is loaded. Runs in Node's hook thread, where no user code
 * runs; the main thread learns which files were loaded over a port.
 */
import { readFile } from 'node:fs/promises';
import type { InitializeHook, LoadHook, ResolveHook, ResolveHookContext } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { isCompiledFile, isInstalledFile } from '../compile/module-format.js';
import { projectOf } from '../compile/project.js';
import { loadCompiler, transpile } from '../compile/transpile.js';
import { commonjsFacade } from './commonjs-facade.js';
import { probe, resolveSource, sourceOfMissing } from './resolve-source.js';

export interface HookData {
  /** Gets the path of each file of the user's that was imported; gives the path of each module that was required. */
  readonly port: MessagePort;
  /** URL of a file of the CLI: where `@flowline/*` comes from when the user's project has none installed. */
  readonly ownUrl: string;
}

let data: HookData | undefined;
const required = new Set<string>();

export const initialize: InitializeHook<HookData> = (given) => {
  data = given;
  // The main thread goes on while this one loads the compiler.
  setImmediate(loadCompiler);
};

export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  const importer = context.parentURL?.startsWith('file:')
    ? fileURLToPath(context.parentURL)
    : undefined;
  const source = findSource(specifier, importer);
  if (source !== undefined) return { url: source, shortCircuit: true };
  try {
    return await nextResolve(specifier, withConditions(context, importer));
  } catch (error) {
    const replacement = sourceOfMissing(error);
    if (replacement !== undefined) {
      return { url: pathToFileURL(replacement).href, shortCircuit: true };
    }
    const { code } = error as { code?: string };
    if (code === 'ERR_MODULE_NOT_FOUND' && specifier.startsWith('@flowline/') && data) {
      return nextResolve(specifier, { ...context, parentURL: data.ownUrl });
    }
    throw error;
  }
};

export const load: LoadHook = async (url, context, nextLoad) => {
  if (!url.startsWith('file:')) return nextLoad(url, context);
  const file = fileURLToPath(url);
  if (!isInstalledFile(file)) data?.port.postMessage(file);
  if (isCompiledFile(file)) {
    const { code, format } = transpile(file);
    const source = format === 'module' && !isRequired(file) ? code : commonjsFacade(file);
    return { format: 'module', source, shortCircuit: true };
  }
  if (extname(file) === '.json' && context.importAttributes.type !== 'json') {
    // TypeScript's `resolveJsonModule` needs no attribute, so users' code has none.
    const source = `export default ${await readFile(file, 'utf8')}`;
    return { format: 'module', source, shortCircuit: true };
  }
  return nextLoad(url, context);
};

/** True for a module that the main thread runs as CommonJS already, because CommonJS code required it first. */
function isRequired(file: string): boolean {
  while (data !== undefined) {
    const message = receiveMessageOnPort(data.port);
    if (message === undefined) break;
    required.add(message.message as string);
  }
  return required.has(file);
}

function findSource(specifier: string, importer: string | undefined): string | undefined {
  const query = /^(?:\.|\/|file:)[^?#]*([?#].*)$/.exec(specifier)?.[1] ?? '';
  const bare = specifier.slice(0, specifier.length - query.length);
  const found = bare.startsWith('file:')
    ? probe(fileURLToPath(bare), false)
    : importer === undefined
      ? undefined
      : resolveSource(bare, importer);
  return found === undefined ? undefined : pathToFileURL(found).href + query;
}

function withConditions(context: ResolveHookContext, importer: string | undefined) {
  if (importer === undefined || isInstalledFile(importer)) return context;
  const custom = projectOf(importer).compilerOptions.customConditions ?? [];
  return custom.length === 0
    ? context
    : { ...context, conditions: [...custom, ...context.conditions] };
}
