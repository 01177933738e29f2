export { DataDirectoryError } from './server/data-directory-error.js';
export {
  connectEmbedded,
  type EmbeddedConnection,
  type EmbeddedOptions,
  type EmbeddedStatus,
  embeddedStatus,
  stopEmbedded,
} from './server/embedded/connect-embedded.js';
export { type RunningServer, type ServerOptions, startServer } from './server/start-server.js';
export type { AdversaryOptions } from './state/adversary.js';
