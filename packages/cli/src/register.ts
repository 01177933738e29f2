/**
 * `node --import @flowline/cli/register server.ts`: application code in TypeScript, loaded as `flow` loads job files, so
 * that a server can import the classes of the jobs that it triggers.
 */
import { installLoader } from './loading/hooks/install-loader.js';

installLoader();
