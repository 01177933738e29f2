import { describe, expect, it } from 'vitest';
import type { StoreContext } from '../context.js';
import { nextPortion } from './rounds.js';

describe('portions of what is owed', () => {
  const ids = (text: string) => [...text];
  const rounds = () => {
    const context = {} as StoreContext;
    return (owed: string, most: number, duty = 'a') =>
      nextPortion(context, duty, ids(owed), most).join('');
  };

  it('come to everything, though nothing of it is ever done', () => {
    const next = rounds();
    const seen = [1, 2, 3, 4, 5].map(() => next('abcdefg', 3));
    expect(seen).toEqual(['abc', 'def', 'gab', 'cde', 'fga']);
  });

  it('are all of it while it is little, in its order', () => {
    const next = rounds();
    expect([next('ab', 3), next('ab', 3), next('cab', 3)]).toEqual(['ab', 'ab', 'cab']);
  });

  it('go on where things vanish and come', () => {
    const next = rounds();
    expect([next('abcde', 2), next('bcdef', 2), next('bef', 2), next('bf', 2)]).toEqual([
      'ab',
      'cd',
      'ef',
      'bf',
    ]);
  });

  it('of one duty are nothing to another', () => {
    const next = rounds();
    expect([next('abc', 2), next('abc', 2, 'b')]).toEqual(['ab', 'ab']);
  });
});
