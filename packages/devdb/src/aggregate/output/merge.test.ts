import { describe, expect, it } from 'vitest';
import { DbError } from '../../errors.js';
import { fromPlain, fromPlainDoc, type Plain } from '../../values/from-plain.js';
import type { Doc } from '../../values/value.js';
import { plainEnv } from '../run-plain.js';
import { MERGE } from './merge.js';
import { OUT } from './out.js';
import type { MergeTarget, OutputDefinition } from './output.js';

const context = {
  env: plainEnv({}),
  isUniqueKey: (_: string, on: readonly string[]) => on[0] === 'k',
};

function compile(
  definition: OutputDefinition,
  value: Plain,
): ReturnType<OutputDefinition['compile']> | string {
  try {
    return definition.compile(fromPlain(value), context);
  } catch (error) {
    if (error instanceof DbError) return `error ${error.code}`;
    throw error;
  }
}

const fresh = fromPlainDoc({ _id: 1, a: 1 });
const existing = fromPlainDoc({ _id: 1, old: true });

function decide(value: Plain, old: Doc | undefined): ReturnType<MergeTarget['decide']> {
  return (compile(MERGE, value) as MergeTarget).decide(fresh, old);
}

describe('$merge', () => {
  it('merges by default and inserts what is new', () => {
    const merged = fromPlainDoc({ _id: 1, old: true, a: 1 });
    expect(decide('d', existing)).toEqual({ kind: 'merge', existing, document: merged });
    expect(decide('d', undefined)).toEqual({ kind: 'insert', document: fresh });
  });

  it('does what the modes say', () => {
    const keep = { into: 'd', whenMatched: 'keepExisting' };
    const strict = { into: 'd', whenNotMatched: 'fail' };
    expect(decide(keep, existing)).toBeNull();
    expect(decide(strict, undefined)).toEqual({ kind: 'unmatched' });
    expect(decide({ into: 'd', whenNotMatched: 'discard' }, undefined)).toBeNull();
    expect(decide({ into: 'd', whenMatched: 'fail' }, existing)?.kind).toBe('duplicate');
  });

  it('changes the existing document by a pipeline that sees the new one', () => {
    const whenMatched = [{ $set: { n: { $add: ['$$new.a', 10] } } }];
    expect(decide({ into: 'd', whenMatched }, existing)).toEqual({
      kind: 'replace',
      existing,
      document: fromPlainDoc({ _id: 1, old: true, n: 11 }),
    });
  });

  it('never changes an _id', () => {
    const other = fromPlainDoc({ _id: 2, k: 'x' });
    expect(() => decide({ into: 'd', on: 'k', whenMatched: 'replace' }, other)).toThrow(DbError);
  });

  it('finds the existing document by the fields of `on`', () => {
    const target = compile(MERGE, { into: { db: 'test', coll: 'd' }, on: 'k' }) as MergeTarget;
    expect(target.filterFor(fromPlainDoc({ k: 'x' }))).toEqual(fromPlain({ k: { $eq: 'x' } }));
    expect(() => target.filterFor(fresh)).toThrow(DbError);
  });

  it.each<[Plain, string]>([
    [5, 'error 14'],
    [{ into: 'd', on: 'a' }, 'error 51183'],
    [{ into: 'd', on: [] }, 'error 51187'],
    [{ into: 'd', on: 5 }, 'error 51186'],
    [{ into: 'c' }, 'error 51188'],
    [{ into: 'd', whenMatched: 'x' }, 'error 2'],
    [{ into: 'd', nosuch: 1 }, 'error 40415'],
    [{}, 'error 40414'],
  ])('refuses %j with %s', (value, expected) => {
    expect(compile(MERGE, value)).toBe(expected);
  });
});

describe('$out', () => {
  it('names the collection that it replaces', () => {
    expect(compile(OUT, 'd')).toEqual({ kind: 'out', collection: 'd' });
  });

  it.each<[Plain, string]>([
    ['', 'error 73'],
    [5, 'error 14'],
    [{ db: 'test', coll: 'd' }, 'error 14'],
  ])('refuses %j with %s', (value, expected) => {
    expect(compile(OUT, value)).toBe(expected);
  });
});
