import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BSON, type Document } from 'mongodb';

/** One command of a case, with the reply that the recorded server gave. */
export interface GoldenStep {
  readonly command: Document;
  readonly reply: Document;
  readonly db?: string;
  readonly unordered?: boolean;
}

/** One recorded case; see the README beside the data. */
export interface GoldenCase {
  readonly id: string;
  readonly area: string;
  readonly note: string;
  readonly setup: readonly Document[];
  readonly steps: readonly GoldenStep[];
  readonly sets?: readonly string[];
  readonly final?: readonly Document[];
  readonly finalOther?: Readonly<Record<string, readonly Document[]>>;
}

/** Where the recordings are: `FLOW_GOLDEN_DIR`, else `../shared/golden` beside the checkout. */
export function goldenDirectory(): string | null {
  const directory =
    process.env.FLOW_GOLDEN_DIR ?? resolve(import.meta.dirname, '../../../../shared/golden');
  return existsSync(directory) ? directory : null;
}

/** All cases of a folder of `*.jsonl` files. BSON types are kept apart. */
export function readCases(directory: string): GoldenCase[] {
  const cases: GoldenCase[] = [];
  for (const name of readdirSync(directory).sort()) {
    if (!name.endsWith('.jsonl')) continue;
    for (const line of readFileSync(join(directory, name), 'utf8').split('\n')) {
      if (line.trim() !== '') cases.push(readCase(line));
    }
  }
  return cases;
}

/** One line of a case file. */
export function readCase(line: string): GoldenCase {
  return BSON.EJSON.parse(line, { relaxed: false }) as GoldenCase;
}
