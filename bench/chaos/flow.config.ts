import { defineConfig } from '@flowline/cli';

export default defineConfig({ project: 'chaos', jobs: ['jobs/*.job.ts'] });
