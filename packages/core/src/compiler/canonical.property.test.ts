import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, serveKeyOf } from './canonical.js';

/** The same value with the keys of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, member]) => [key, reversed(member)]),
  );
}

// JSON.parse(JSON.stringify()) gives fast-check's values the prototypes and zeros that JSON knows.
const json = fc.json().map((text) => JSON.parse(text) as unknown);

describe('canonicalJson', () => {
  it('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
    );
  });

  it('is JSON for the same value', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('differs where values differ', () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        const isSame = JSON.stringify(reversed(reversed(a))) === JSON.stringify(b);
        if (canonicalJson(a) !== canonicalJson(b)) expect(isSame).toBe(false);
        else expect(JSON.parse(canonicalJson(a))).toEqual(JSON.parse(canonicalJson(b)));
      }),
    );
  });

  it('writes numbers, text and keys as RFC 8785 says', () => {
    const value = { text: '€\u000f\n"\\/', numbers: [1e30, 4.5, 2e-3, 1e-27, -0], nothing: null };
    expect(canonicalJson(value)).toBe(
      '{"nothing":null,"numbers":[1e+30,4.5,0.002,1e-27,0],"text":"€\\u000f\\n\\"\\\\/"}',
    );
    // By code units, not code points: the pair of an emoji comes before U+FB33.
    const keys = { '\ufb33': 5, '€': 1, '\r': 2, '\ud83d\ude00': 4, '1': 3, ö: 6 };
    expect(canonicalJson(keys)).toBe('{"\\r":2,"1":3,"ö":6,"€":1,"\ud83d\ude00":4,"\ufb33":5}');
  });

  it('leaves out what is undefined and refuses what JSON cannot say', () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
    for (const value of [
      Number.NaN,
      1n,
      () => {},
      new Date(0),
      [undefined],
      new Map(),
      undefined,
    ]) {
      expect(() => canonicalJson(value)).toThrow(TypeError);
    }
  });
});

describe('serveKeyOf', () => {
  it('changes with the order of the dependencies, and with nothing else', () => {
    expect(serveKeyOf('d', 'j', ['a', 'b'])).toBe(serveKeyOf('d', 'j', ['a', 'b']));
    expect(serveKeyOf('d', 'j', ['a', 'b'])).not.toBe(serveKeyOf('d', 'j', ['b', 'a']));
    expect(serveKeyOf('d', 'j', ['a', 'b'])).not.toBe(serveKeyOf('d', 'j', ['a-b']));
    expect(serveKeyOf('d', 'j', [])).toMatch(/^d\/j\/[0-9a-f]{12}$/);
  });
});
