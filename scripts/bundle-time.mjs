/**
 * Makes one file of `@flowline/core/time` and the libraries below it: `flow next --cron` spends most of its time on
 * finding and reading modules. Their licences stand at the head of the file. Errors are recognised by brand, so that a
 * second copy of errors.js in one process does no harm.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const core = new URL('../packages/core/', import.meta.url);
const modules = new URL('../node_modules/', import.meta.url);
const bundled = [
  'cron-parser',
  'cronstrue',
  'luxon',
  'temporal-polyfill',
  'temporal-utils',
  'temporal-spec',
];

/** The licence of each library that may be in the bundle. */
function licences() {
  const texts = bundled.flatMap((name) => {
    const folder = new URL(`${name}/`, modules);
    let files;
    try {
      files = readdirSync(folder);
    } catch {
      return [];
    }
    return files
      .filter((file) => /^licen[cs]e/i.test(file))
      .map((file) => `${name}:\n${readFileSync(new URL(file, folder), 'utf8').trim()}`);
  });
  return `/*!\n${texts.join('\n\n').replaceAll('*/', '* /')}\n*/`;
}

const bundle = await rolldown({
  input: fileURLToPath(new URL('dist/time-rules.js', core)),
  platform: 'node',
});
await bundle.write({
  file: fileURLToPath(new URL('dist/time-rules.bundle.js', core)),
  format: 'esm',
  minify: true,
  sourcemap: true,
  postBanner: licences(),
});
await bundle.close();
