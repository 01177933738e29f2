import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { RunnerRecord } from '@flowline/core/internal';

export type RunnerIdentity = Pick<
  RunnerRecord,
  'id' | 'host' | 'bootId' | 'pidNamespace' | 'pid' | 'processStart'
>;

/** Who this process is, unique per start. The parts that prove a death are null where the system has no /proc. */
export function currentIdentity(): RunnerIdentity {
  const host = hostname();
  return {
    id: `${host
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .slice(0, 40)}-${process.pid}-${randomUUID().slice(0, 8)}`,
    host,
    bootId: read('/proc/sys/kernel/random/boot_id'),
    pidNamespace: link('/proc/self/ns/pid'),
    pid: process.pid,
    processStart: processStart(process.pid),
  };
}

/**
 * True only when it is certain that the process behind `other` is gone: same boot, same pid namespace, and no such
 * pid, or the pid belongs to a process that started at another time. "Not permitted" means alive.
 */
export function isProvablyDead(other: RunnerIdentity, me: RunnerIdentity): boolean {
  if (me.bootId === null || me.pidNamespace === null || other.processStart === null) return false;
  if (other.bootId !== me.bootId || other.pidNamespace !== me.pidNamespace) return false;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
  const start = processStart(other.pid);
  // An unreadable /proc entry proves nothing; a zombie has ended although its pid is still taken.
  return start !== null && (start !== other.processStart || isZombie(other.pid));
}

function processStart(pid: number): string | null {
  return statFields(pid)?.[19] ?? null;
}

function isZombie(pid: number): boolean {
  return statFields(pid)?.[0] === 'Z';
}

/** Fields of /proc/pid/stat from the state on; the command name before it may hold spaces and brackets. */
function statFields(pid: number): string[] | null {
  const stat = read(`/proc/${pid}/stat`);
  return stat === null ? null : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

function link(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
