#!/usr/bin/env node
import('../dist/main.js').then(
  ({ main }) => main(process.argv.slice(2)),
  (error) => {
    if (error?.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    process.stderr.write(
      `flow: the CLI is not built: run "npm run build" first (${error.message})\n`,
    );
    process.exitCode = 2;
  },
);
