/**
 * `server.json` in the data directory: who serves it, and where. Written by the serving process alone, always as a whole; it
 * stays behind when the server ends, so that the next one takes the same port and the URI stays what it was.
 */
import { readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { livenessOf, type ProcessIdentity } from './process-identity.js';

export type ServerPhase = 'starting' | 'ready' | 'stopping' | 'stopped' | 'failed';

/** What `server.json` says. */
export interface ServerFile {
  readonly phase: ServerPhase;
  readonly process: ProcessIdentity;
  readonly port: number;
  readonly uri: string;
  /** ISO 8601, UTC, by the clock of the serving machine. */
  readonly startedAt: string;
  /** Why it could not start. */
  readonly failure?: string;
}

/** How often the server touches its file. */
export const HEARTBEAT_MS = 2000;

/** A server in another container counts as dead when its file was not touched for this long. */
const HEARTBEAT_TIMEOUT_MS = 10_000;

function fileIn(directory: string): string {
  return join(directory, 'server.json');
}

/** Null if there is none, or none that can be read. */
export function readServerFile(directory: string): ServerFile | null {
  try {
    return JSON.parse(readFileSync(fileIn(directory), 'utf8')) as ServerFile;
  } catch {
    return null;
  }
}

/** Replaces the file in one step. */
export function writeServerFile(directory: string, content: ServerFile): void {
  const temporary = `${fileIn(directory)}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(content, null, 2)}\n`);
  renameSync(temporary, fileIn(directory));
}

/** Tells processes of other containers that the server lives. */
export function touchServerFile(directory: string): void {
  const now = new Date();
  try {
    utimesSync(fileIn(directory), now, now);
  } catch {
    // The directory may have been removed under the server; its end comes with the last client.
  }
}

/** Whether the process that wrote the file still runs. */
export function isServing(directory: string, file: ServerFile): boolean {
  const liveness = livenessOf(file.process);
  if (liveness !== 'elsewhere') return liveness === 'alive';
  try {
    return Date.now() - statSync(fileIn(directory)).mtimeMs < HEARTBEAT_TIMEOUT_MS;
  } catch {
    return false;
  }
}
