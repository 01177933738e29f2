import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FlowClient } from '../../packages/core/src/client/flow-client.js';
import { Dag } from '../../packages/core/src/decorators/dag.js';
import { DependsOn } from '../../packages/core/src/decorators/depends-on.js';
import { Job } from '../../packages/core/src/decorators/job.js';
import type { JobContext } from '../../packages/core/src/definition/job-context.js';
import { failed, Graph, graphOf } from './graphs.js';
import { Bench, deployment } from './scheduling.js';

interface Order {
  readonly order: string;
}

@Job({ id: 'invoice' })
class Invoice {
  async run(ctx: JobContext<Order>) {
    return ctx.params.order;
  }
}

@Job()
@DependsOn(Invoice)
class Mail {
  async run(_ctx: JobContext, _invoice: string) {}
}

@Dag({ id: 'nightly' })
class Nightly {}

let bench: Bench;
let client: FlowClient;
beforeAll(async () => {
  bench = await Bench.open();
  client = new FlowClient({ uri: bench.uri, database: bench.db.databaseName });
  await bench.store.deployDag(deployment(graphOf('invoice', { invoice: [], mail: ['invoice'] })));
  await bench.store.deployDag(deployment(graphOf('nightly', { only: [] }, { overlap: 'allow' })));
});
afterAll(async () => {
  await client.close();
  await client.close();
  await bench.close();
});

const invoices = () => new Graph(bench, graphOf('invoice', { invoice: [], mail: ['invoice'] }));

describe('FlowClient', () => {
  it('triggers by the class of a DAG or of one of its jobs, and by id; the run starts at once', async () => {
    const one = await client.trigger(Invoice, { params: { order: '4711' } });
    expect(one.created).toBe(true);
    expect(await client.getRun(one.runId)).toMatchObject({
      id: one.runId,
      dag: 'invoice',
      state: 'running',
      cause: 'api',
      params: { order: '4711' },
      logicalDate: null,
      tasks: [
        { job: 'invoice', state: 'ready', attempts: [], waitingFor: [] },
        { job: 'mail', state: 'blocked', waitingFor: ['invoice'] },
      ],
    });
    const other = await client.trigger(Mail);
    expect((await client.getRun(other.runId))?.dag).toBe('invoice');
    const third = await client.trigger('nightly', { params: [1n] });
    expect((await client.getRun(third.runId))?.params).toEqual([1n]);
    expect((await client.trigger(Nightly)).created).toBe(true);
    await invoices().work();
    await bench.store.admitRuns('invoice');
    await invoices().work();
  });

  it('makes one run of one key', async () => {
    const options = { key: 'order-1', params: { order: '1' } };
    const answers = await Promise.all([1, 2, 3, 4].map(() => client.trigger(Invoice, options)));
    expect(answers.filter((one) => one.created)).toHaveLength(1);
    expect(new Set(answers.map((one) => one.runId)).size).toBe(1);
    expect((await client.trigger('nightly', { key: 'order-1' })).created).toBe(true);
    await client.cancel(answers[0]!.runId);
  });

  it('starts later when it is asked to', async () => {
    const at = new Date(Date.now() + 86_400_000);
    const { runId } = await client.trigger('nightly', { at: at.toISOString() });
    expect(await client.getRun(runId)).toMatchObject({ state: 'queued', notBefore: at });
    const delayed = await client.trigger('nightly', { delay: '2h', reason: 'later' });
    expect(await client.getRun(delayed.runId)).toMatchObject({ state: 'queued', reason: 'later' });
  });

  it('waits for the end of a run, however it ends', async () => {
    const graph = invoices();
    const { runId } = await client.trigger('invoice');
    const waiting = client.waitForRun(runId, { timeout: '1m', pollMs: 5 });
    await graph.work({ invoice: failed });
    const run = await waiting;
    expect(run).toMatchObject({ state: 'failed', tasks: [{ state: 'failed' }, {}] });
    expect(run.tasks[0]?.attempts[0]).toMatchObject({ n: 1, outcome: 'failed', runner: 'worker' });
  });

  it('stops waiting after its time, by its signal, or where there is no run', async () => {
    const { runId } = await client.trigger('invoice');
    const late = client.waitForRun(runId, { timeout: '20ms', pollMs: 5 });
    await expect(late).rejects.toMatchObject({ code: 'conflict', retryable: true });
    const controller = new AbortController();
    const waiting = client.waitForRun(runId, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(client.waitForRun('gone')).rejects.toMatchObject({ code: 'not-found' });
    expect(await client.cancel(runId, 'not needed')).toEqual({ state: 'cancelled', closed: false });
    expect(await client.waitForRun(runId)).toMatchObject({ reason: 'not needed' });
  });

  it('retries what failed, in the same run', async () => {
    const dag = 'retried';
    const graph = graphOf(
      dag,
      { one: [], two: ['one'] },
      { retention: { runsMs: 30 * 86_400_000, logsMs: 86_400_000 } },
    );
    await bench.store.deployDag(deployment(graph));
    const worker = new Graph(bench, graph);
    const { runId } = await client.trigger(dag);
    await worker.work({ one: failed });
    expect(await client.retry(runId)).toEqual({ jobs: ['one', 'two'] });
    expect(await client.getRun(runId)).toMatchObject({ state: 'running' });
    await worker.work();
    expect(await client.waitForRun(runId)).toMatchObject({ id: runId, state: 'succeeded' });
    await expect(client.retry(runId)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('says what is wrong with a call', async () => {
    const code = (call: Promise<unknown>) =>
      call.then(
        () => 'none',
        (error) => error.code,
      );
    expect(await code(client.trigger('Not An Id'))).toBe('option');
    expect(await code(client.trigger('nowhere'))).toBe('not-found');
    expect(await code(client.trigger(class Plain {}))).toBe('option');
    expect(await code(client.trigger('nightly', { at: '2026-01-01T00:00:00' }))).toBe('option');
    expect(await code(client.trigger('nightly', { at: new Date(), delay: '1s' }))).toBe('option');
    expect(await code(client.trigger('nightly', { delay: 'soon' }))).toBe('option');
    expect(await code(client.trigger('nightly', { key: '' }))).toBe('option');
    expect(await code(client.trigger('nightly', { params: new Map() }))).toBe('payload');
    expect(await client.getRun('gone')).toBeNull();
  });

  it('connects at the first call, and refuses calls after its end', async () => {
    const lazy = new FlowClient({
      uri: 'mongodb://127.0.0.1:9',
      serverSelectionTimeoutMs: 50,
    });
    await expect(lazy.getRun('x')).rejects.toMatchObject({ code: 'store-unreachable' });
    await expect(lazy.getRun('x')).rejects.toMatchObject({ code: 'store-unreachable' });
    await lazy.close();
    await expect(lazy.getRun('x')).rejects.toMatchObject({ code: 'usage' });
    const nowhere = { uri: 'mongodb://127.0.0.1:9', serverSelectionTimeoutMs: 50 };
    await expect(FlowClient.connect(nowhere)).rejects.toMatchObject({ code: 'store-unreachable' });
  });
});

/** Compiled, not run: what the editor says. */
export function types(one: FlowClient): void {
  void one.trigger(Invoice, { params: { order: 'x' }, key: 'k' });
  void one.trigger('invoice', { params: 5 });
  void one.trigger(Nightly);
  // @ts-expect-error: the DAG declares params
  void one.trigger(Invoice);
  // @ts-expect-error: not these params
  void one.trigger(Invoice, { params: { order: 5 } });
  // @ts-expect-error: an unknown option
  void one.trigger('invoice', { when: 'now' });
}
