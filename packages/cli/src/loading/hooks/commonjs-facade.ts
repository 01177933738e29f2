import { pathToFileURL } from 'node:url';
import { isCompiledFile } from '../compile/module-format.js';
import { transpile } from '../compile/transpile.js';
import { resolveSource } from './resolve-source.js';

/**
 * The ES module that stands for a CommonJS source file where a module imports it.
 *
 * It requires the file, so that `require` and `import` share one instance, and re-exports it under the names that
 * the compiled code announces: Node's own scan for names reads the file on disk, which here is TypeScript.
 */
export function commonjsFacade(file: string): string {
  const names = [...exportNames(file, new Set())].filter((name) => name !== 'default');
  const url = JSON.stringify(pathToFileURL(file).href);
  return [
    `import { createRequire } from 'node:module';`,
    `const exported = createRequire(${url})(${JSON.stringify(file)});`,
    `export default exported;`,
    ...names.map((name, index) => `const e${index} = exported[${JSON.stringify(name)}];`),
    ...names.map((name, index) => `export { e${index} as ${JSON.stringify(name)} };`),
  ].join('\n');
}

/** The names that compiled CommonJS exports, through `export *` too as far as it leads to source files. */
function exportNames(file: string, seen: Set<string>): Set<string> {
  const names = new Set<string>();
  if (seen.has(file)) return names;
  seen.add(file);
  const { code } = transpile(file, 'commonjs');
  for (const [, name] of code.matchAll(/^Object\.defineProperty\(exports, "([^"]+)"/gm)) {
    if (name !== undefined && name !== '__esModule') names.add(name);
  }
  // Where there are several, swc announces them in a form made for such scans: `0 && (module.exports = { a: null })`.
  const announced = /^0 && \(module\.exports = \{([^}]*)\}\);/m.exec(code)?.[1] ?? '';
  for (const [, quoted, plain] of announced.matchAll(/(?:"([^"]+)"|([\w$]+)): null/g)) {
    names.add(quoted ?? plain ?? '');
  }
  for (const [, specifier] of code.matchAll(/_export_star\(require\("([^"]+)"\)/g)) {
    const target = resolveSource(specifier ?? '', file);
    if (target === undefined || !isCompiledFile(target)) continue;
    for (const name of exportNames(target, seen)) names.add(name);
  }
  return names;
}
