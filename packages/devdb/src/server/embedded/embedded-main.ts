/**
 * The process of an embedded server: `node embedded-main.js <directory> <options as JSON>`. It owns the directory, serves it,
 * and ends when nobody has been connected for `idleMs`, or on SIGTERM. It outlives the process that started it.
 */
import { mkdirSync } from 'node:fs';
import { type ServerOptions, startServer } from '../start-server.js';
import { claimOwnership } from './ownership.js';
import { ownIdentity } from './process-identity.js';
import {
  HEARTBEAT_MS,
  readServerFile,
  type ServerFile,
  touchServerFile,
  writeServerFile,
} from './server-file.js';

/** What the starting process passes on. */
export interface EmbeddedServerOptions {
  readonly idleMs: number;
  readonly port: number | null;
  readonly checkpointBytes?: number;
}

/** The exit code of a process that found the directory owned by another one. */
const EXIT_OWNED = 17;
/** The exit code of a server that could not start; the reason is in `server.json`. */
const EXIT_FAILED = 18;

async function main(directory: string, options: EmbeddedServerOptions): Promise<void> {
  mkdirSync(directory, { recursive: true });
  if ((await claimOwnership(directory)) !== null) process.exit(EXIT_OWNED);
  const before = readServerFile(directory);
  const base: ServerFile = {
    phase: 'starting',
    process: ownIdentity(),
    port: options.port ?? before?.port ?? 0,
    uri: before?.uri ?? '',
    startedAt: new Date().toISOString(),
  };
  writeServerFile(directory, base);
  const idle = idleTimer(options.idleMs, () => void stop());
  const { checkpointBytes } = options;
  const server = await listen(
    {
      directory,
      port: base.port,
      onConnections: idle.connections,
      ...(checkpointBytes === undefined ? {} : { checkpointBytes }),
    },
    options.port !== null,
  ).catch((error: unknown) => {
    const failure = error instanceof Error ? error.message : String(error);
    writeServerFile(directory, { ...base, phase: 'failed', failure });
    process.exit(EXIT_FAILED);
  });
  const ready: ServerFile = { ...base, phase: 'ready', port: server.port, uri: server.uri };
  writeServerFile(directory, ready);
  const heartbeat = setInterval(() => touchServerFile(directory), HEARTBEAT_MS);
  idle.start();

  let stopping = false;
  async function stop(): Promise<void> {
    if (stopping) return;
    stopping = true;
    clearInterval(heartbeat);
    writeServerFile(directory, { ...ready, phase: 'stopping' });
    await server.close();
    writeServerFile(directory, { ...ready, phase: 'stopped' });
    process.exit(0);
  }
  process.on('SIGTERM', () => void stop());
  process.on('SIGINT', () => void stop());
  // The terminal of the process that started it may go.
  process.on('SIGHUP', () => {});
}

/** Takes the wanted port; if it is only the one of last time and taken by now, any free one. */
async function listen(options: ServerOptions & { port: number }, isWanted: boolean) {
  try {
    return await startServer(options);
  } catch (error) {
    const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
    if (!isTaken || isWanted || options.port === 0) throw error;
    return startServer({ ...options, port: 0 });
  }
}

/** Calls `end` when there has been no connection for `idleMs`. */
function idleTimer(idleMs: number, end: () => void) {
  let timer: NodeJS.Timeout | undefined;
  let open = 0;
  const start = () => {
    clearTimeout(timer);
    if (open === 0 && Number.isFinite(idleMs)) timer = setTimeout(end, idleMs);
  };
  return {
    start,
    connections(count: number) {
      open = count;
      start();
    },
  };
}

const [directory, options] = process.argv.slice(2);
await main(directory!, JSON.parse(options!) as EmbeddedServerOptions);
