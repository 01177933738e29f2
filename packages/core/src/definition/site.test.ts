import { describe, expect, it } from 'vitest';
import { captureSite, siteOfStack } from './site.js';

describe('siteOfStack', () => {
  it.each([
    ['    at Object.<anonymous> (/app/jobs/sales.ts:12:5)', '/app/jobs/sales.ts', 12],
    ['    at file:///app/my%20jobs/sales.ts:3:1', '/app/my jobs/sales.ts', 3],
    ['    at async file:///app/sales.ts?v=2:3:1', '/app/sales.ts', 3],
    ['    at <static_initializer> (/app/sales.ts:7:2)', '/app/sales.ts', 7],
    ['    at C:\\app\\sales.ts:7:2', 'C:\\app\\sales.ts', 7],
    ['    at make (/app/a (copy)/sales.ts:7:2)', '/app/a (copy)/sales.ts', 7],
  ])('reads %s', (frame, file, line) => {
    expect(siteOfStack(`Error\n${frame}`)).toEqual({ file, line });
  });

  it.each([
    '    at <anonymous>',
    '    at eval (eval at x (/app/a.ts:1:2), <anonymous>:1:1)',
    '    at REPL1:1:1',
    '',
  ])('finds nothing in %s', (frame) => {
    expect(siteOfStack(`Error\n${frame}`)).toBeUndefined();
  });
});

describe('captureSite', () => {
  it('leaves the stack limit of the process as it was, and works when it is 0', () => {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    try {
      function here() {
        return captureSite(here);
      }
      expect(here()?.file).toMatch(/site\.test\.ts$/);
      expect(Error.stackTraceLimit).toBe(0);
    } finally {
      Error.stackTraceLimit = limit;
    }
  });
});
