import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LogLine } from '../../packages/core/src/model/run.js';
import { Bench } from './scheduling.js';

let bench: Bench;
beforeAll(async () => {
  bench = await Bench.open();
});
afterAll(() => bench.close());

const line = (runId: string, jobId: string, seq: number, more: Partial<LogLine> = {}): LogLine => ({
  runId,
  jobId,
  attempt: 1,
  seq,
  at: new Date(1_000 + seq),
  level: 'info',
  message: `${jobId} ${seq}`,
  ...more,
});

/** Everything that can be read from a cursor on, page by page. */
async function follow(runId: string, after?: string, limit = 3) {
  const messages: string[] = [];
  let cursor = after;
  for (;;) {
    const page = await bench.store.readLogs({
      runId,
      limit,
      ...(cursor === undefined ? {} : { after: cursor }),
    });
    if (page.lines.length === 0) return { messages, cursor };
    messages.push(...page.lines.map((one) => one.message));
    cursor = page.cursor ?? undefined;
  }
}

describe('logs', () => {
  it('are read in order, once each, however often they were sent', async () => {
    const lines = Array.from({ length: 12 }, (_, seq) => line('run-1', 'a', seq));
    await bench.store.appendLogs(lines.slice(0, 8), 60_000);
    await bench.store.appendLogs(lines.slice(5), 60_000);
    expect((await follow('run-1')).messages).toEqual(lines.map((one) => one.message));
  });

  it('are followed without loss, also when a writer is late with what it stamped before', async () => {
    await bench.store.appendLogs([line('run-2', 'a', 0), line('run-2', 'b', 0)], 60_000);
    const first = await follow('run-2');
    expect(first.messages).toEqual(['a 0', 'b 0']);
    expect((await follow('run-2', first.cursor)).messages).toEqual([]);
    await bench.store.appendLogs([line('run-2', 'c', 0), line('run-2', 'a', 1)], 60_000);
    // Written by a process whose estimate of the database's time is a second behind.
    const late = new Date((await bench.store.readServerTime()).getTime() - 1_000);
    await bench.collections.logs.updateOne(
      { runId: 'run-2', jobId: 'c' },
      { $set: { storedAt: late } },
    );
    const second = await follow('run-2', first.cursor);
    expect(second.messages.sort()).toEqual(['a 1', 'c 0']);
    expect((await follow('run-2', second.cursor)).messages).toEqual([]);
  });

  it('keep their data, and say what could not be kept', async () => {
    await bench.store.appendLogs(
      [
        line('run-3', 'a', 0, { data: { 'a.b': 5n, $x: new Date(1) }, level: 'warn', attempt: 2 }),
        line('run-3', 'a', 1, { data: { f: () => 1 }, attempt: 2, message: 'm'.repeat(70_000) }),
      ],
      60_000,
    );
    const { lines } = await bench.store.readLogs({ runId: 'run-3', jobId: 'a' });
    expect(lines[0]).toEqual(
      line('run-3', 'a', 0, { data: { 'a.b': 5n, $x: new Date(1) }, level: 'warn', attempt: 2 }),
    );
    expect(lines[1]?.data).toMatchObject({ notStored: expect.stringContaining('data.f') });
    expect(lines[1]?.message.length).toBeLessThan(66_000);
    expect((await bench.store.readLogs({ runId: 'run-3', jobId: 'b' })).lines).toEqual([]);
  });

  it('expire by the retention that they were written with', async () => {
    await bench.store.appendLogs([line('run-4', 'a', 0)], 3_600_000);
    const stored = await bench.collections.logs.findOne({ runId: 'run-4' });
    expect(stored!.expireAt.getTime() - stored!.storedAt.getTime()).toBe(3_600_000);
  });

  it('refuse a cursor that is none', async () => {
    const bad = bench.store.readLogs({ runId: 'run-1', after: 'yesterday' });
    await expect(bad).rejects.toMatchObject({ code: 'usage' });
  });
});
