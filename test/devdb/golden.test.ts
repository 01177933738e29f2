import { readFileSync } from 'node:fs';
import { startServer } from '@flowline/devdb';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GoldenCase, goldenDirectory, readCases } from './golden/case-file.ts';
import { runCase } from './golden/run-case.ts';
import { COMPUTING } from './own-cases/computing.ts';
import { OPTIONS } from './own-cases/options.ts';
import { READING } from './own-cases/reading.ts';
import { STORING } from './own-cases/storing.ts';
import { WRITING } from './own-cases/writing.ts';

/** The areas that a job store lives on. */
const VITAL = [
  'filter',
  'filter-path',
  'filter-date',
  'filter-number',
  'filter-expr',
  'sort',
  'find-options',
  'projection',
  'count',
  'distinct',
  'delete',
  'insert',
  'update-set',
  'update-unset',
  'update-math',
  'update-rename',
  'update-currentdate',
  'update-bit',
  'update-push',
  'update-addtoset',
  'update-pull',
  'update-pop',
  'update-positional',
  'update-form',
  'update-multi',
  'upsert',
  'update-pipeline',
  'find-and-modify',
  'unique',
  'index',
  'cursor',
  'transaction',
  'retryable-write',
  'scenario',
];

const directory = goldenDirectory();
const cases = directory === null ? [] : readCases(directory);
const known = knownDifferences();

let client: MongoClient;
let close: () => Promise<void>;

beforeAll(async () => {
  const server = await startServer();
  client = await new MongoClient(server.uri).connect();
  close = async () => {
    await client.close();
    await server.close();
  };
});

afterAll(() => close());

/** The cases that are known to differ, with the reasons, from `packages/devdb/DIFFERENCES.md`. */
function knownDifferences(): Map<string, string> {
  const page = new URL('../../packages/devdb/DIFFERENCES.md', import.meta.url);
  const rows = readFileSync(page, 'utf8').matchAll(/^\| `([a-z-]+-\d{4})` \| (.+) \|$/gm);
  return new Map(Array.from(rows, ([, id, reason]) => [id!, reason!]));
}

function byArea(all: readonly GoldenCase[]): Map<string, GoldenCase[]> {
  const areas = new Map<string, GoldenCase[]>();
  for (const one of all) areas.set(one.area, [...(areas.get(one.area) ?? []), one]);
  return areas;
}

describe.skipIf(directory === null)('the recorded answers of a real server', () => {
  const passed = new Map<string, number>();

  test.each([...byArea(cases)])(
    '%s',
    async (area, inArea) => {
      const unexpected: string[] = [];
      let equal = 0;
      for (const one of inArea) {
        const found = await runCase(client, one);
        if (found === null) equal += 1;
        if (found !== null && !known.has(one.id)) unexpected.push(`${one.id}: ${found}`);
        if (found === null && known.has(one.id)) {
          unexpected.push(
            `${one.id} is listed as different and is equal now: take it off the list`,
          );
        }
      }
      passed.set(area, equal);
      expect(unexpected).toEqual([]);
    },
    180_000,
  );

  test('are given nearly everywhere', () => {
    const share = (areas: readonly string[]) => {
      const wanted = cases.filter((one) => areas.includes(one.area)).length;
      return areas.reduce((sum, area) => sum + (passed.get(area) ?? 0), 0) / wanted;
    };
    expect(share(VITAL)).toBeGreaterThanOrEqual(0.99);
    const others = [...byArea(cases).keys()].filter((area) => !VITAL.includes(area));
    expect(share(others)).toBeGreaterThanOrEqual(0.85);
  });

  test('differ only where a case of that name exists', () => {
    const ids = new Set(cases.map((one) => one.id));
    expect([...known.keys()].filter((id) => !ids.has(id))).toEqual([]);
  });
});

const OWN = [...READING, ...WRITING, ...STORING, ...OPTIONS, ...COMPUTING];

describe('our own cases', () => {
  test.each(OWN.map((one) => [one.area, one.note, one] as const))('%s: %s', async (_, __, one) => {
    expect(await runCase(client, one)).toBeNull();
  });

  test.skipIf(directory === null)('cover each area of the recorded ones', () => {
    const areas = new Set(OWN.map((one) => one.area));
    expect([...byArea(cases).keys()].filter((area) => !areas.has(area))).toEqual([]);
  });

  test.runIf(directory === null)('are all there is: the recorded answers are not here', () => {
    expect(OWN.length).toBeGreaterThan(0);
  });
});
