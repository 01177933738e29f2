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
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
