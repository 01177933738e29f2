import { execFileSync } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';

/** Names one process so that a later one with the same number is not taken for it. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in whatever unit the system tells; equal texts mean the same process. */
  readonly startedAs: string;
  /** The boot and the process namespace (container) in which the pid means something. */
  readonly scope: string;
}

/** The identity of this process. */
export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, startedAs: startOf(process.pid) ?? '', scope: ownScope() };
}

/** `elsewhere` is a process of another boot or container, of which nothing can be known here. */
export type Liveness = 'alive' | 'dead' | 'elsewhere';

/** Whether the process of an identity still runs. */
export function livenessOf(identity: ProcessIdentity): Liveness {
  if (identity.scope !== ownScope()) {
    // Of an earlier boot of this machine nothing lives any more.
    return bootOf(identity.scope) === bootOf(ownScope()) ? 'elsewhere' : 'dead';
  }
  try {
    process.kill(identity.pid, 0);
  } catch (error) {
    // "Not permitted" means that there is such a process.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return 'dead';
  }
  const started = startOf(identity.pid);
  if (started === undefined) return 'dead';
  return started === identity.startedAs ? 'alive' : 'dead';
}

function bootOf(scope: string): string {
  return scope.split('/')[0] ?? '';
}

let scope: string | undefined;

function ownScope(): string {
  scope ??= `${readText('/proc/sys/kernel/random/boot_id')}/${readLink('/proc/self/ns/pid')}`;
  return scope;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** The start time of a process; undefined if there is none; empty where the system does not tell. */
function startOf(pid: number): string | undefined {
  if (process.platform === 'linux') {
    const stat = readText(`/proc/${pid}/stat`);
    if (stat === '') return undefined;
    // The name may hold spaces and brackets: the fields are counted from the last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended, only nobody has asked for its exit code yet.
    return fields[0] === 'Z' ? undefined : fields[19];
  }
  if (process.platform === 'win32') return '';
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}
