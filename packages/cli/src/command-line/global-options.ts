import type { Options } from 'yargs';

/** Flags of every command. Flags beat the environment, the environment beats flow.config.ts. */
export const globalOptions: Readonly<Record<string, Options>> = {
  config: { type: 'string', describe: 'the flow.config.ts to use', requiresArg: true },
  'mongodb-uri': {
    type: 'string',
    describe: 'MongoDB to use (FLOW_MONGODB_URI)',
    requiresArg: true,
  },
  database: { type: 'string', describe: 'name of the database (FLOW_DATABASE)', requiresArg: true },
  'data-dir': {
    type: 'string',
    describe: 'folder of the embedded database (FLOW_DATA_DIR)',
    requiresArg: true,
  },
  'log-level': {
    type: 'string',
    describe: 'debug, info, warn or error (FLOW_LOG_LEVEL)',
    requiresArg: true,
  },
  json: { type: 'boolean', describe: 'print JSON' },
};
