import { readFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import { compiledExtensions, isInstalledFile } from '../compile/module-format.js';
import { transpile, usesTopLevelAwait } from '../compile/transpile.js';
import { resolveSource, sourceOfMissing } from './resolve-source.js';

type Resolve = (request: string, parent: Parent, isMain?: boolean, options?: object) => string;
type Extension = (module: CompilableModule, file: string) => void;
type Parent = { readonly filename?: string | null } | null | undefined;
interface CompilableModule {
  _compile(code: string, file: string, format?: string): void;
}

/** What Node leaves open for this purpose, and keeps working for the sake of the tools that use it. */
interface ModuleInternals {
  _resolveFilename: Resolve;
  readonly _extensions: Record<string, Extension>;
}

/** What the hook needs to know from, and tell, the ESM side. */
export interface RequireHookOptions {
  /** Where `@flowline/*` comes from when the user's project has none installed. */
  readonly ownUrl: string;
  /** True for a file that `import` has loaded already. */
  readonly isImported: (file: string) => boolean;
  /** Called before a file whose format is `module` runs as CommonJS. */
  readonly onModuleRequired: (file: string) => void;
}

/**
 * Teaches `require` to find and compile source files.
 *
 * Node 20 asks no hook about what a module imports that was itself required. So a source module that CommonJS code
 * requires before anyone imported it runs as CommonJS, and later imports get that instance; one that was imported
 * before is Node's own to hand out. Either way each file runs once.
 */
export function installRequireHook(options: RequireHookOptions): void {
  const internals = Module as unknown as ModuleInternals;
  const resolveAsNode = internals._resolveFilename;
  internals._resolveFilename = function resolveFilename(request, parent, isMain, more) {
    const importer = parent?.filename;
    if (typeof importer === 'string' && !isInstalledFile(importer)) {
      const source = resolveSource(request, importer);
      if (source !== undefined) return source;
    }
    try {
      return resolveAsNode.call(this, request, parent, isMain, more);
    } catch (error) {
      const source = sourceOfMissing(error);
      if (source !== undefined) return source;
      if (!request.startsWith('@flowline/')) throw error;
      return createRequire(options.ownUrl).resolve(request);
    }
  };
  const run: Extension = (module, file) => {
    const { code, format } = transpile(file);
    if (format === 'commonjs' || options.isImported(file)) {
      module._compile(code, file, format);
      return;
    }
    const converted = transpile(file, 'commonjs');
    if (usesTopLevelAwait(readFileSync(file, 'utf8'), converted.code)) {
      throw new RequiredAwaitError(file);
    }
    options.onModuleRequired(file);
    module._compile(converted.code, file, 'commonjs');
  };
  for (const extension of compiledExtensions) internals._extensions[extension] = run;
}

/** A module with top-level await that CommonJS code requires: no version of Node can do that. */
export class RequiredAwaitError extends Error {
  readonly flowLoad: { readonly kind: 'required-await'; readonly file: string };
  override readonly name = 'RequiredAwaitError';

  constructor(file: string) {
    super(`${file} uses top-level await, so CommonJS code cannot require it`);
    this.flowLoad = { kind: 'required-await', file };
  }
}
