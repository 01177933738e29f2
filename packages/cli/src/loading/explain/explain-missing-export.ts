import { didYouMean } from '@flowline/core/internal';
import { codeFrame } from '../compile/source-syntax-error.js';
import { displayPath, type Explanation, type FailureContext } from './explanation.js';
import {
  followImport,
  lineAt,
  namesInClause,
  readSource,
  type ScannedImport,
  scanImports,
} from './scan-imports.js';

/**
 * An import of a name that is not there at run time. Mostly an interface imported as if it were a value, which only
 * `import type` makes right.
 */
export function explainMissingExport(
  error: unknown,
  { entry, root }: FailureContext,
): Explanation | undefined {
  if (!(error instanceof SyntaxError)) return undefined;
  const [, specifier, name] =
    /^The requested module '(.+)' (?:does not provide an export named|contains conflicting star exports for the name) '(.+?)'/.exec(
      error.message,
    ) ?? [];
  if (specifier === undefined || name === undefined) return undefined;
  const importer =
    /^(?:file:\/\/)?(\/.+|[A-Za-z]:\\.+):\d+\n/.exec(error.stack ?? '')?.[1] ?? entry;
  const source = readSource(importer);
  const found = scanImports(source).find(
    (each) => each.specifier === specifier && namesInClause(each.clause, name),
  );
  const target = followImport(specifier, importer);
  const exporter = target === undefined ? `'${specifier}'` : displayPath(target, root);
  return {
    ...explainName(name, target, exporter),
    file: importer,
    ...(found === undefined ? {} : position(source, found, name)),
  };
}

function explainName(name: string, target: string | undefined, exporter: string) {
  const asType = `Write "import type { ${name} }" (or "export type" where it is passed on).`;
  if (target !== undefined && isTypeOf(target, name, new Set())) {
    return {
      code: 'load-type-import',
      message: `${name} is a type of ${exporter}, and types do not exist at run time`,
      hint: asType,
    };
  }
  const close = target === undefined ? undefined : didYouMean(name, valueNames(readSource(target)));
  return {
    code: 'load-missing-export',
    message: `${exporter} exports no value named ${name}`,
    hint: close === undefined ? `If ${name} is a type: ${asType}` : `Did you mean ${close}?`,
  };
}

function isTypeOf(file: string, name: string, seen: Set<string>): boolean {
  if (seen.has(file)) return false;
  seen.add(file);
  const source = readSource(file);
  if (new RegExp(`\\b(?:interface|type)\\s+${name}\\b`).test(source)) return true;
  if (new RegExp(`\\b(?:import|export)\\s+type\\s*\\{[^}]*\\b${name}\\b`).test(source)) return true;
  return scanImports(source).some(({ clause, specifier }) => {
    if (!clause.includes('*') && !namesInClause(clause, name)) return false;
    const next = followImport(specifier, file);
    return next !== undefined && isTypeOf(next, name, seen);
  });
}

function valueNames(source: string): string[] {
  const declared = source.matchAll(
    /^export\s+(?:default\s+)?(?:abstract\s+)?(?:async\s+)?(?:class|const|let|var|function\*?|enum)\s+([\w$]+)/gm,
  );
  return [...declared].map(([, name]) => name ?? '');
}

function position(source: string, found: ScannedImport, name: string) {
  const within = found.clause.search(new RegExp(`(?<![\\w$])${name}(?![\\w$])`));
  const index = found.clauseAt + Math.max(within, 0);
  const line = lineAt(source, index);
  const column = index - source.lastIndexOf('\n', index - 1);
  return { line, column, frame: codeFrame(source, line, column) };
}
