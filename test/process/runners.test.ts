import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { outcomes, testWithFlow } from '../support/fleet.ts';
import { until } from '../support/until.ts';

const project = fileURLToPath(new URL('../fixtures/process', import.meta.url));
const runnerArgs = ['runner', '--lease', '3s', '--concurrency', '4'];

// Side by side: most of their time is waiting for processes to start and for leases to lapse.
const test = testWithFlow(project, 'held.job.ts', runnerArgs);

test.concurrent('a runner killed in the middle of a task: another one runs it again, and both attempts can be told apart', async ({
  flow,
  started,
}) => {
  const first = await started();
  const { id: runId } = await flow.here(['run', 'held']);
  await until('the first start', () => flow.events().includes(`start 1 ${first.pid}`));
  const second = await started();
  first.child.kill('SIGKILL');
  await until('the second start', () => flow.events().includes(`start 2 ${second.pid}`));
  flow.allow('release');
  const store = await flow.store();
  const run = await until('the end', async () => {
    const view = await store.viewRun(runId);
    return view?.state === 'succeeded' && view;
  });
  expect(outcomes(run, 'held')).toEqual([
    ['lost', first.id],
    ['succeeded', second.id],
  ]);
  expect(outcomes(run, 'after')).toEqual([['succeeded', second.id]]);
  const shown = await flow.flow(['show', runId]);
  expect(shown.stdout).toMatch(new RegExp(`held +1 +lost +${first.id}`));
  expect(shown.stdout).toMatch(new RegExp(`held +2 +succeeded +${second.id}`));
});

test.concurrent('a runner stopped past its lease and continued: its late result is refused', async ({
  flow,
  started,
}) => {
  const first = await started();
  const { id: runId } = await flow.here(['run', 'held']);
  await until('the first start', () => flow.events().includes(`start 1 ${first.pid}`));
  first.child.kill('SIGSTOP');
  const second = await started();
  await until('the second start', () => flow.events().includes(`start 2 ${second.pid}`));
  // Both may end now; the first one is deaf to whatever it is told meanwhile.
  flow.allow('deaf');
  flow.allow('release');
  first.child.kill('SIGCONT');
  await until('the late end', () => flow.events().includes(`end 1 ${first.pid}`));
  const store = await flow.store();
  const run = await until('the end', async () => {
    const view = await store.viewRun(runId);
    return view?.state === 'succeeded' && view;
  });
  await until('the refusal', () => /was refused|lease lost/.test(first.output()));
  expect(outcomes(run, 'held')).toEqual([
    ['lost', first.id],
    ['succeeded', second.id],
  ]);
  const [held] = (await store.readInputs(runId, ['held'])).results as { pid: number }[];
  expect(held?.pid).toBe(second.pid);
});

test.concurrent('a busy event loop does not lose its lease: renewals come from another thread', async ({
  flow,
  started,
}) => {
  const runner = await started(['runner', '--lease', '4s'], { env: { SPIN_MS: '9000' } });
  const { id: runId } = await flow.here(['run', 'spin']);
  const store = await flow.store();
  const run = await until('the end', async () => {
    const view = await store.viewRun(runId);
    return view?.endedAt !== null && view;
  });
  expect(outcomes(run, 'spin')).toEqual([['succeeded', runner.id]]);
  expect(runner.output()).not.toContain('lost');
});

test.concurrent('SIGTERM drains: the running task ends here, nothing new is claimed, the exit status is 143', async ({
  flow,
  started,
}) => {
  const first = await started();
  const { id: runId } = await flow.here(['run', 'held']);
  await until('the first start', () => flow.events().includes(`start 1 ${first.pid}`));
  const second = await started();
  first.child.kill('SIGTERM');
  await until('draining', () => first.output().includes('draining'));
  const other = await flow.here(['run', 'held']);
  await until('the other start', () => flow.events().includes(`start 1 ${second.pid}`));
  flow.allow('release');
  expect(await first.ended).toMatchObject({ code: 143, signal: null });
  const store = await flow.store();
  for (const [id, runner] of [
    [runId, first.id],
    [other.id, second.id],
  ]) {
    const run = await until('the end', async () => {
      const view = await store.viewRun(id);
      return view?.state === 'succeeded' && view;
    });
    expect(outcomes(run, 'held')).toEqual([['succeeded', runner]]);
  }
  expect((await store.listRunners()).map((runner) => runner.id)).toEqual([second.id]);
});

test.concurrent('a drain that runs out of time hands the task back; one that ignores it keeps its lease and the status says so', async ({
  flow,
  started,
}) => {
  const first = await started([...runnerArgs, '--drain-timeout', '100ms']);
  const { id: runId } = await flow.here(['run', 'held']);
  await until('the first start', () => flow.events().includes(`start 1 ${first.pid}`));
  first.child.kill('SIGTERM');
  expect((await first.ended).code).toBe(143);
  const store = await flow.store();
  const task = await store.getTask(`${runId}/held`);
  expect(task).toMatchObject({ state: 'ready', failures: 0, losses: 0 });
  expect(task?.attempts.map(({ outcome }) => outcome)).toEqual(['returned']);

  flow.allow('deaf');
  const deaf = await started([...runnerArgs, '--drain-timeout', '100ms']);
  await until('the second start', () => flow.events().includes(`start 2 ${deaf.pid}`));
  deaf.child.kill('SIGINT');
  expect((await deaf.ended).code).toBe(4);
  expect((await store.getTask(`${runId}/held`))?.attempts.map(({ outcome }) => outcome)).toEqual([
    'returned',
    null,
  ]);
});

test.concurrent('a second signal forces: the status is 1 and nothing is handed back that still runs', async ({
  flow,
  started,
}) => {
  const runner = await started();
  await flow.here(['run', 'held']);
  await until('the start', () => flow.events().includes(`start 1 ${runner.pid}`));
  flow.allow('deaf');
  runner.child.kill('SIGTERM');
  await until('draining', () => runner.output().includes('draining'));
  runner.child.kill('SIGTERM');
  expect((await runner.ended).code).toBe(1);
});

test.concurrent('two leaders: one stopped in office and continued; no fire is run twice and none is lost', async ({
  flow,
  started,
}) => {
  const store = await flow.store();
  const runners = [await started(), await started()];
  await flow.here(['deploy', 'every-second.job.ts']);
  const runsOf = () => store.listRuns({ dagId: 'every-second', limit: 1_000 });
  await until('the first fires', async () => (await runsOf()).length >= 3);
  const office = await until('a leader', () => store.getLeadership());
  const leader = runners.find(({ id }) => id === office.holder);
  leader?.child.kill('SIGSTOP');
  await until('another leader', async () => {
    const now = await store.getLeadership();
    return now !== null && now.holder !== office.holder && now.epoch > office.epoch;
  });
  const before = (await runsOf()).length;
  leader?.child.kill('SIGCONT');
  await until('further fires', async () => (await runsOf()).length >= before + 4);
  await flow.here(['pause', 'every-second']);
  const ran = (await runsOf()).map(({ logicalDate }) => logicalDate?.getTime() as number);
  expect(new Set(ran).size).toBe(ran.length);
  // Every second from the first fire to the last is a run or a line in `fires`, and none is both.
  const told = (await store.listFires('every-second', { limit: 1_000 })).flatMap(
    ({ from, count }) =>
      Array.from({ length: count }, (_, index) => from.getTime() + index * 1_000),
  );
  const all = [...ran, ...told].sort((a, b) => a - b);
  const first = all[0] as number;
  expect(all).toEqual(all.map((_, index) => first + index * 1_000));
});
