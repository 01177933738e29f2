import { defineConfig } from 'vitest/config';

// Decorated fixtures use the legacy dialect, as most users' code does.
const oxc = { decorator: { legacy: true } };

export default defineConfig({
  oxc,
  test: {
    projects: [
      {
        oxc,
        test: { name: 'unit', include: ['packages/*/src/**/*.test.ts'], pool: 'threads' },
      },
      {
        oxc,
        test: {
          name: 'system',
          include: ['test/**/*.test.ts'],
          exclude: ['test/process/**'],
          pool: 'forks',
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      // Many processes each, and judged by leases: after the rest, and the whole crowd of the chaos by itself.
      {
        oxc,
        test: {
          name: 'process',
          include: ['test/process/**/*.test.ts'],
          exclude: ['test/process/chaos.test.ts'],
          pool: 'forks',
          testTimeout: 300_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        oxc,
        test: {
          name: 'chaos',
          include: ['test/process/chaos.test.ts'],
          pool: 'forks',
          hookTimeout: 60_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
