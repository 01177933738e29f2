import { expect, it } from 'vitest';
import { Coalescer } from './coalesce.js';

it('runs the work once more for all calls that came while it ran, and keys apart', async () => {
  const coalescer = new Coalescer();
  const starts: string[] = [];
  const opens: (() => void)[] = [];
  const work = (key: string) => () => {
    starts.push(key);
    return new Promise<void>((resolve) => opens.push(resolve));
  };
  const calls = [1, 2, 3, 4].map(() => coalescer.run('a', work('a')));
  const other = coalescer.run('b', work('b'));
  expect(starts).toEqual(['a', 'b']);
  opens[0]?.();
  await new Promise(setImmediate);
  expect(starts).toEqual(['a', 'b', 'a']);
  for (const open of opens) open();
  await Promise.all([...calls, other]);
  await coalescer.settled();
  expect(starts).toEqual(['a', 'b', 'a']);
});
