import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Decorated fixtures use the legacy dialect, as most users' code does.
const oxc = { decorator: { legacy: true } };

// The test and the database it works on share one processor; vitest would leave one of two idle.
const workers = Math.max(2, availableParallelism());

// Nothing here is about speed: whoever is slow is let finish. A test that hangs says so in the end.
const patient = { testTimeout: 300_000, hookTimeout: 120_000 };

/** What takes longest begins first, so that no worker is left alone with it in the end. */
const longest = [
  'test/faults/interleavings',
  'test/faults/enumeration',
  'test/pack/',
  'test/faults/',
  'test/devdb/kill',
  'test/runner/outages',
  'test/cli/',
  'test/time/',
  'test/docs/',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = longest.findIndex((part) => moduleId.includes(part));
      return at < 0 ? longest.length : at;
    };
    return [...(await super.sort(files))].sort((one, other) => rank(one) - rank(other));
  }
}

export default defineConfig({
  oxc,
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        oxc,
        test: {
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts'],
          pool: 'threads',
          maxWorkers: workers,
          isolate: false,
          ...patient,
        },
      },
      // Files of one worker share its modules and its development server; each has a database of its own.
      {
        oxc,
        test: {
          name: 'system',
          include: ['test/**/*.test.ts'],
          exclude: ['test/process/**'],
          pool: 'forks',
          maxWorkers: workers,
          isolate: false,
          ...patient,
          sequence: { groupOrder: 1 },
        },
      },
      // Many processes each, which mostly wait for leases and outages: after the rest, and the whole crowd of the chaos by itself.
      {
        oxc,
        test: {
          name: 'process',
          include: ['test/process/**/*.test.ts'],
          exclude: ['test/process/chaos.test.ts'],
          pool: 'forks',
          maxWorkers: workers + 1,
          ...patient,
          sequence: { groupOrder: 2 },
        },
      },
      {
        oxc,
        test: {
          name: 'chaos',
          include: ['test/process/chaos.test.ts'],
          pool: 'forks',
          ...patient,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
