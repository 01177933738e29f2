import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeMappings, encodeMappings } from './source-map-lines.js';

const field = fc.nat(100_000);
const segment = fc.oneof(
  fc.tuple(field),
  fc.tuple(field, field, field, field),
  fc.tuple(field, field, field, field, field),
);
const lines = fc.array(fc.array(segment, { maxLength: 5 }), { minLength: 1, maxLength: 8 });

test('decoding undoes encoding', () => {
  fc.assert(
    fc.property(lines, (segments) => {
      expect(decodeMappings(encodeMappings(segments))).toEqual(segments);
    }),
  );
});

test('encodes as the specification does', () => {
  // From the source map specification's examples of base 64 VLQ: 0 is A, 1 is C, -1 is D, 16 is gB.
  expect(encodeMappings([[[0, 0, 16, 1]], [], [[1, 0, 15, 0]]])).toBe('AAgBC;;CADD');
});
