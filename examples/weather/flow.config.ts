import { defineConfig } from '@flowline/cli';

export default defineConfig({
  project: 'weather',
  // Jobs live beside the code they belong to, in any package of the monorepo.
  jobs: ['packages/*/src/**/*.job.ts'],
});
