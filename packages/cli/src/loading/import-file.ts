import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { declaredFormat, isCompiledFile } from './compile/module-format.js';
import { transpile } from './compile/transpile.js';
import { installLoader } from './hooks/install-loader.js';

/**
 * Loads one file of the user's, TypeScript or JavaScript, and answers its exports by name. The second time the file is
 * not run again. Installs the loader on first use.
 * @throws whatever the file, or one that it imports, throws while it loads; see explainFailure.
 */
export async function importFile(file: string): Promise<Readonly<Record<string, unknown>>> {
  installLoader();
  if (runsAsModule(file)) return import(pathToFileURL(file).href);
  const exported: unknown = createRequire(import.meta.url)(file);
  return typeof exported === 'object' && exported !== null
    ? (exported as Record<string, unknown>)
    : { default: exported };
}

/** False for a CommonJS source: it is required, so that no second thread is asked and its errors come unwrapped. */
function runsAsModule(file: string): boolean {
  if (!isCompiledFile(file) || declaredFormat(file) === 'module') return true;
  return transpile(file).format === 'module';
}
