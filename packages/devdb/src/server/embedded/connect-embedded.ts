import { spawn } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DataDirectoryError } from '../data-directory-error.js';
import type { EmbeddedServerOptions } from './embedded-main.js';
import { openPresence, type Presence } from './presence.js';
import { livenessOf, ownIdentity, type ProcessIdentity } from './process-identity.js';
import { isServing, readServerFile, type ServerFile } from './server-file.js';

/** How to connect to the embedded server of a directory. */
export interface EmbeddedOptions {
  /** The server ends when nobody has been connected for this long; milliseconds, default 30,000. Infinity: never. */
  readonly idleMs?: number;
  /** The port of a server that has to be started; default the one it had last time, else a free one. */
  readonly port?: number;
  /** Whether the handle restarts a server that died while it is held (default true). */
  readonly restart?: boolean;
  /** How long the log of a server that has to be started grows before it is moved; bytes, default 8 MiB. Tests choose less. */
  readonly checkpointBytes?: number;
  /** How long starting may take; milliseconds, default 20,000. */
  readonly timeoutMs?: number;
}

/** A held connection to an embedded server. */
export interface EmbeddedConnection {
  /** The connection string. It stays the same across restarts of the server unless its port was taken meanwhile. */
  readonly uri: string;
  readonly port: number;
  /** The process that serves; another one after a restart. */
  readonly pid: number;
  /** Lets go: the server ends once nobody has been connected for its idle time. Idempotent. */
  close(): Promise<void>;
}

/** What is known of the server of a directory. */
export type EmbeddedStatus =
  | {
      readonly state: 'running';
      readonly pid: number;
      readonly port: number;
      readonly uri: string;
      /** ISO 8601, UTC. */
      readonly startedAt: string;
    }
  | { readonly state: 'stopped' };

const DEFAULT_IDLE_MS = 30_000;
const DEFAULT_TIMEOUT_MS = 20_000;
const POLL_MS = 40;
const RESTART_ATTEMPTS = 15;

/** A log of this size is begun anew. */
const MAX_LOG_BYTES = 1024 * 1024;

/** How much of the log's end an error message quotes. */
const QUOTED_LOG = 2000;

/** A starter that has not brought a server up after this time is not waited for any longer. */
const STARTER_MS = 10_000;

/**
 * Finds the server of a data directory or starts it as a process of its own. Any number of processes may call this at once: one
 * server comes of it. While the returned handle is held the server does not end by itself, and is started again if it dies.
 * Throws DataDirectoryError where the directory cannot be used or the server does not come up in time.
 */
export async function connectEmbedded(
  directory: string,
  options: EmbeddedOptions = {},
): Promise<EmbeddedConnection> {
  const path = resolve(directory);
  let { file, presence } = await ensureRunning(path, options);
  let closed = false;

  /** Tries for about a minute; after that clients see the server gone, and a new connectEmbedded says why. */
  const restart = async (): Promise<boolean> => {
    for (let attempt = 0; attempt < RESTART_ATTEMPTS && !closed; attempt++) {
      try {
        ({ file, presence } = await ensureRunning(path, options));
        if (closed) presence.close();
        return true;
      } catch {
        await delay(Math.min(5000, 250 * 2 ** attempt), undefined, { ref: false });
      }
    }
    return false;
  };

  const watch = async () => {
    while (!closed) {
      await presence.ended;
      if (closed || options.restart === false) return;
      const left = readServerFile(path);
      // Who stops the server on purpose does not want it back.
      if (left === null || left.phase === 'stopped' || left.phase === 'stopping') return;
      if (!(await restart())) return;
    }
  };
  void watch();

  return {
    get uri() {
      return file.uri;
    },
    get port() {
      return file.port;
    },
    get pid() {
      return file.process.pid;
    },
    async close() {
      closed = true;
      presence.close();
      await presence.ended;
    },
  };
}

/** Whether a server runs for the directory, and where. Starts nothing. */
export async function embeddedStatus(directory: string): Promise<EmbeddedStatus> {
  const path = resolve(directory);
  const file = readServerFile(path);
  if (file === null || file.phase !== 'ready' || !isServing(path, file))
    return { state: 'stopped' };
  const { port, uri, startedAt } = file;
  return { state: 'running', pid: file.process.pid, port, uri, startedAt };
}

/**
 * Stops the server of a directory, whoever is connected to it; waits until it has ended. False if none ran. What was
 * acknowledged stays in the directory.
 */
export async function stopEmbedded(directory: string, timeoutMs = 10_000): Promise<boolean> {
  const path = resolve(directory);
  const file = readServerFile(path);
  if (file === null || livenessOf(file.process) !== 'alive') return false;
  const deadline = Date.now() + timeoutMs;
  process.kill(file.process.pid, 'SIGTERM');
  while (livenessOf(file.process) === 'alive') {
    if (Date.now() > deadline) {
      process.kill(file.process.pid, 'SIGKILL');
      break;
    }
    await delay(POLL_MS);
  }
  return true;
}

interface Running {
  readonly file: ServerFile;
  readonly presence: Presence;
}

async function ensureRunning(path: string, options: EmbeddedOptions): Promise<Running> {
  mkdirSync(path, { recursive: true });
  const deadline = Date.now() + (options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  for (;;) {
    const file = readServerFile(path);
    if (file !== null && isServing(path, file)) {
      if (file.phase === 'ready') {
        const presence = await openPresence(file.port, file.process.pid).catch(() => null);
        if (presence !== null) return { file, presence };
      }
    } else if (becomeStarter(path)) {
      try {
        await startProcess(path, options, deadline);
      } finally {
        stopBeingStarter(path);
      }
      continue;
    }
    if (Date.now() > deadline) {
      throw new DataDirectoryError(
        `The development server of ${path} did not come up in time; see ${join(path, 'server.log')}.`,
      );
    }
    await delay(POLL_MS);
  }
}

/**
 * A hint, not a lock: it spares the machine ten server processes where ten programs start at once. Which server owns
 * the directory is settled by the servers themselves.
 */
function becomeStarter(path: string): boolean {
  const hint = join(path, 'starting.json');
  try {
    writeFileSync(hint, JSON.stringify(ownIdentity()), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  try {
    const age = Date.now() - statSync(hint).mtimeMs;
    const starter = JSON.parse(readFileSync(hint, 'utf8')) as ProcessIdentity;
    if (age > STARTER_MS || livenessOf(starter) === 'dead') unlinkSync(hint);
  } catch {
    // Just written or just removed by another process: look again at the next turn.
  }
  return false;
}

function stopBeingStarter(path: string): void {
  try {
    unlinkSync(join(path, 'starting.json'));
  } catch {
    // Another process took this one for dead.
  }
}

/** Starts a server process and waits until it serves or has ended. */
async function startProcess(
  path: string,
  options: EmbeddedOptions,
  deadline: number,
): Promise<void> {
  const log = openLog(join(path, 'server.log'));
  const passed: EmbeddedServerOptions = {
    idleMs: options.idleMs ?? DEFAULT_IDLE_MS,
    port: options.port ?? null,
    ...(options.checkpointBytes === undefined ? {} : { checkpointBytes: options.checkpointBytes }),
  };
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('./embedded-main.js', import.meta.url)), path, JSON.stringify(passed)],
    { detached: true, stdio: ['ignore', log, log], env: cleanEnvironment(), windowsHide: true },
  );
  closeSync(log);
  let exit: { code: number | null; signal: string | null } | null = null;
  child.on('exit', (code, signal) => {
    exit = { code, signal };
  });
  child.on('error', () => {
    exit = { code: null, signal: null };
  });
  child.unref();
  while (Date.now() < deadline) {
    const file = readServerFile(path);
    if (file !== null && file.process.pid === child.pid) {
      if (file.phase === 'ready') return;
      if (file.phase === 'failed') throw new DataDirectoryError(file.failure ?? 'unknown reason');
    }
    if (exit !== null) return explainExit(path, exit);
    await delay(POLL_MS);
  }
}

/** What crashed servers said stays readable for a while. */
function openLog(file: string): number {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return openSync(file, size > MAX_LOG_BYTES ? 'w' : 'a');
}

/** A server that found another owner is none to worry about; any other end is. */
function explainExit(path: string, exit: { code: number | null; signal: string | null }): void {
  if (exit.code === 17) return;
  const log = readFileSync(join(path, 'server.log'), 'utf8').slice(-QUOTED_LOG).trim();
  const hint = exit.signal === null ? '' : 'Its data are probably damaged. ';
  throw new DataDirectoryError(
    `The development server of ${path} ended at its start (${exit.signal ?? `exit code ${exit.code}`}). ${hint}${log}`,
  );
}

/** Loaders, inspectors and coverage of the starting program are not for the server. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, NODE_V8_COVERAGE: _coverage, ...rest } = process.env;
  return rest;
}
