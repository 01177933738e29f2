import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { currentIdentity, isProvablyDead } from './identity.js';

describe.runIf(process.platform === 'linux')('the proof of a death', () => {
  const me = currentIdentity();

  it('holds for a pid that is gone, and not for one that lives', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    await once(child, 'spawn');
    const other = { ...me, id: 'other', pid: child.pid as number };
    // Same pid, other start time: the pid was given to another process.
    expect(isProvablyDead({ ...other, processStart: '1' }, me)).toBe(true);
    expect(isProvablyDead(me, me)).toBe(false);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isProvablyDead(other, me)).toBe(true);
  });

  it('does not hold across boots, pid namespaces, or where nothing is known', () => {
    const gone = { ...me, id: 'other', pid: 2 ** 22 - 1 };
    expect(isProvablyDead(gone, me)).toBe(true);
    expect(isProvablyDead({ ...gone, bootId: 'another' }, me)).toBe(false);
    expect(isProvablyDead({ ...gone, pidNamespace: 'pid:[1]' }, me)).toBe(false);
    expect(isProvablyDead({ ...gone, processStart: null }, me)).toBe(false);
    expect(isProvablyDead(gone, { ...me, bootId: null })).toBe(false);
  });
});
