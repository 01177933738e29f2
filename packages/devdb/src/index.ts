export { DataDirectoryError } from './server/open-store.js';
export { type RunningServer, type ServerOptions, startServer } from './server/start-server.js';
