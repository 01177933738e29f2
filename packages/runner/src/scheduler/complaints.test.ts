import { ConflictError, StoreError } from '@flowline/core';
import { describe, expect, it } from 'vitest';
import { Complaints, isOutage } from './complaints.js';

describe('complaints', () => {
  it('are told when they are new, and again after a minute with how often it was meanwhile', () => {
    let nowMs = 0;
    const complaints = new Complaints(() => nowMs);
    const note = (subject = 'a', message = 'x') =>
      complaints.note('settle', subject, new Error(message))?.times ?? null;
    expect(note()).toBe(0);
    nowMs = 1_000;
    expect(note()).toBeNull();
    expect(note('b')).toBe(0);
    expect(note('a', 'another')).toBe(0);
    nowMs = 60_000;
    expect(note()).toBe(1);
    nowMs = 200_000;
    expect(note()).toBe(0);
  });

  it('of one kind are told by ten, however many there are', () => {
    const complaints = new Complaints(() => 0);
    const told = Array.from({ length: 200 }, (_, dag) =>
      complaints.note('settle', `dag-${dag}`, new Error('x')),
    );
    expect(told.filter((one) => one !== null)).toHaveLength(10);
    expect(complaints.note('feed backfills', '', new Error('x'))).not.toBeNull();
  });

  it('are no outages', () => {
    expect(isOutage(new StoreError('away', { unreachable: true, retryable: true }))).toBe(true);
    expect(isOutage(new StoreError('stepping down', { retryable: true }))).toBe(true);
    expect(isOutage(new StoreError('refused'))).toBe(false);
    expect(isOutage(new ConflictError('taken', { retryable: true }))).toBe(false);
    expect(isOutage(new TypeError('x'))).toBe(false);
  });
});
