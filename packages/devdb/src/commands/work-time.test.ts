import { describe, expect, it } from 'vitest';
import { WorkTime } from './work-time.js';

describe('WorkTime', () => {
  let now = 0;
  function* slow(work: WorkTime, eachMs: number): Generator<number> {
    for (let n = 0; n < 10; n++) {
      now += eachMs;
      work.check();
      yield n;
    }
  }

  it('counts the making of documents and not the waiting between them', () => {
    const work = new WorkTime(() => now, 1_000);
    let taken = 0;
    for (const _ of work.measure(slow(work, 100))) {
      taken += 1;
      now += 60_000;
    }
    expect(taken).toBe(10);
  });

  it('ends the pipeline once it has worked too long', () => {
    const work = new WorkTime(() => now, 350);
    const documents = work.measure(slow(work, 100));
    expect([documents.next().value, documents.next().value, documents.next().value]).toEqual([
      0, 1, 2,
    ]);
    expect(() => documents.next()).toThrow(expect.objectContaining({ code: 50 }));
  });

  it('closes what it reads from', () => {
    let closed = false;
    function* source() {
      try {
        yield 1;
        yield 2;
      } finally {
        closed = true;
      }
    }
    const work = new WorkTime(() => now, 1_000);
    for (const _ of work.measure(source())) break;
    expect(closed).toBe(true);
  });
});
