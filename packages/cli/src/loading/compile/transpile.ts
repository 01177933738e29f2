import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Script } from 'node:vm';
import type { Options, TsParserConfig } from '@swc/core';
import { mapDecorators } from './decorator-positions.js';
import { declaredFormat, type ModuleFormat } from './module-format.js';
import { type ProjectOptions, projectOf } from './project.js';
import { toSourceSyntaxError } from './source-syntax-error.js';

/** A source file as Node can run it; the code carries its source map. */
export interface Transpiled {
  readonly code: string;
  readonly format: ModuleFormat;
}

const cache = new Map<string, Transpiled>();

/**
 * Compiles one source file for the running Node. Answers from memory the second time: a process sees one state of
 * each file, like Node's own module cache.
 *
 * A file whose package does not say `type` runs as CommonJS, unless it uses top-level await, which only modules have.
 * @param format overrides the file's own format.
 * @throws SourceSyntaxError where the file does not parse; TsconfigError where its tsconfig cannot be read.
 */
export function transpile(file: string, format?: ModuleFormat): Transpiled {
  const key = `${format ?? ''}:${file}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const source = readFileSync(file, 'utf8');
  const declared = format ?? declaredFormat(file);
  let transpiled = compile(file, source, declared ?? 'commonjs');
  if (declared === undefined && usesTopLevelAwait(source, transpiled.code)) {
    transpiled = compile(file, source, 'module');
  }
  cache.set(key, transpiled);
  return transpiled;
}

/** Loads the compiler ahead of its first use. It costs some 40 ms, which a thread that waits anyway can spend early. */
export function loadCompiler(): typeof import('@swc/core') {
  return createRequire(import.meta.url)('@swc/core') as typeof import('@swc/core');
}

/** @param commonjs the source compiled to CommonJS: V8 is the judge of whether an await stands outside of any async function. */
export function usesTopLevelAwait(source: string, commonjs: string): boolean {
  if (!/\bawait\b/.test(source)) return false;
  try {
    // Compiled, never run.
    new Script(`(function(){${commonjs}\n})`);
    return false;
  } catch {
    return true;
  }
}

function compile(file: string, source: string, format: ModuleFormat): Transpiled {
  const project = projectOf(file);
  const { transformSync, parseSync } = loadCompiler();
  const parser = { syntax: 'typescript', decorators: true, tsx: file.endsWith('x') } as const;
  let output: { code: string; map?: string };
  try {
    output = transformSync(source, swcOptions(file, format, project, parser));
  } catch (error) {
    throw toSourceSyntaxError(error, file, source);
  }
  let map = JSON.parse(output.map ?? '{"mappings":""}') as { mappings: string };
  if (project.decorators === 'legacy') {
    map = mapDecorators(map, output.code, source, parser, parseSync);
  }
  const encoded = Buffer.from(JSON.stringify(map)).toString('base64');
  return {
    code: `${output.code}\n//# sourceMappingURL=data:application/json;base64,${encoded}`,
    format,
  };
}

function swcOptions(
  file: string,
  format: ModuleFormat,
  project: ProjectOptions,
  parser: TsParserConfig,
): Options {
  const { compilerOptions } = project;
  return {
    filename: file,
    sourceFileName: file,
    swcrc: false,
    configFile: false,
    isModule: true,
    sourceMaps: true,
    inlineSourcesContent: false,
    jsc: {
      // What Node 20 runs unchanged.
      target: 'es2022',
      // Job ids derive from class names.
      keepClassNames: true,
      parser,
      transform: {
        ...(project.decorators === 'legacy'
          ? {
              legacyDecorator: true,
              decoratorMetadata: compilerOptions.emitDecoratorMetadata === true,
            }
          : { decoratorVersion: '2022-03' as const }),
        useDefineForClassFields: usesDefine(compilerOptions),
        verbatimModuleSyntax: compilerOptions.verbatimModuleSyntax === true,
        ...(parser.tsx ? { react: jsxOptions(compilerOptions) } : {}),
      },
    },
    module:
      format === 'module'
        ? { type: 'es6' }
        : {
            type: 'commonjs',
            importInterop: compilerOptions.esModuleInterop === false ? 'none' : 'swc',
            exportInteropAnnotation: true,
            ignoreDynamic: true,
          },
  };
}

/** TypeScript's rule: the standard semantics from target ES2022 on, unless said. */
function usesDefine(options: ProjectOptions['compilerOptions']): boolean {
  if (options.useDefineForClassFields !== undefined) return options.useDefineForClassFields;
  const target = options.target?.toLowerCase();
  return target === undefined || target === 'esnext' || target >= 'es2022';
}

function jsxOptions(options: ProjectOptions['compilerOptions']) {
  const isClassic = options.jsx === 'react';
  return {
    runtime: isClassic ? ('classic' as const) : ('automatic' as const),
    ...(options.jsxFactory === undefined ? {} : { pragma: options.jsxFactory }),
    ...(options.jsxFragmentFactory === undefined ? {} : { pragmaFrag: options.jsxFragmentFactory }),
    ...(options.jsxImportSource === undefined ? {} : { importSource: options.jsxImportSource }),
  };
}
