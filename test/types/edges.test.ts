/**
 * The DSL's compile-time errors, as users get them: the built declarations of core under three versions of TypeScript and
 * both decorator dialects. `sound.ts` has no error; `unsound.ts` says above each line which error it has.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const fixtures = fileURLToPath(new URL('fixtures/', import.meta.url));
const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url));
const versions = ['typescript-5', 'typescript', 'typescript-7'] as const;
const dialects = { legacy: 'tsconfig.legacy.json', TC39: 'tsconfig.json' } as const;

interface Diagnostic {
  readonly file: string;
  readonly line: number;
  readonly code: string;
  /** All lines of the message. */
  readonly text: string;
}

describe.each(versions)('under %s', (version) => {
  it.each(Object.entries(dialects))(
    'refuses unsound edges in the %s dialect, and nothing else',
    async (_, config) => {
      // The fast one also checks our declaration files themselves; the others are spared those of Node, which are long.
      const extra =
        version === 'typescript-7' ? ['--skipLibCheck', 'false', '--types', 'node'] : [];
      const found = await check(version, ['-p', config, ...extra]);
      const expected = expectations('unsound.ts');
      expect(found.map(({ file, line, code }) => `${file}:${line} ${code}`)).toEqual(
        expected.map(({ line, code }) => `unsound.ts:${line} ${code}`),
      );
      expected.forEach(({ text }, index) => {
        expect(found[index]?.text).toContain(text);
      });
    },
  );
});

/** What the comments `// expect TS1238: text` of a fixture say about the lines below them. */
function expectations(file: string): Omit<Diagnostic, 'file'>[] {
  const lines = readFileSync(fixtures + file, 'utf8').split('\n');
  return lines.flatMap((line, index) => {
    const match = /^ *\/\/ expect (TS\d+): (.+)$/.exec(line);
    return match === null ? [] : [{ line: index + 2, code: match[1]!, text: match[2]! }];
  });
}

function check(version: string, args: readonly string[]): Promise<Diagnostic[]> {
  const tsc = `${modules}${version}/bin/tsc`;
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [tsc, ...args], { cwd: fixtures }, (error, stdout, stderr) => {
      if (stderr !== '') return reject(new Error(stderr));
      if (error !== null && typeof error.code !== 'number') return reject(error);
      resolve(parse(stdout));
    });
  });
}

function parse(output: string): Diagnostic[] {
  const found: { file: string; line: number; code: string; text: string }[] = [];
  for (const line of output.split('\n')) {
    const match = /^(.+?)\((\d+),\d+\): error (TS\d+): (.*)$/.exec(line);
    if (match !== null) {
      const [, file, at, code, text] = match;
      found.push({ file: file!, line: Number(at), code: code!, text: text! });
    } else if (/^error /.test(line)) {
      throw new Error(line);
    } else if (found.length > 0) {
      found.at(-1)!.text += `\n${line.trim()}`;
    }
  }
  return found;
}
