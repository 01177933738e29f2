/**
 * What a task of a killed runner waits for: on the same machine for a proof that its runner is dead, elsewhere for its lease. How
 * long that takes is measured by `npm run chaos -- --only kill`; here it is judged by what is stored of the loss, since a busy
 * machine takes its time.
 */
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { endOf, onOtherHost, outcomes, testWithFlow } from '../support/fleet.ts';
import { until } from '../support/until.ts';

const project = fileURLToPath(new URL('../fixtures/process', import.meta.url));
const test = testWithFlow(project, 'held.job.ts', ['runner']);

const cases = [
  {
    where: 'on the same machine, which does not wait for the lease',
    args: ['runner', '--lease', '10m'],
    elsewhere: {},
    reason: 'runner-dead',
  },
  {
    where: 'on another machine',
    args: ['runner'],
    elsewhere: onOtherHost,
    reason: 'lease-expired',
  },
  {
    where: 'on another machine, with a lease of 5 s',
    args: ['runner', '--lease', '5s'],
    elsewhere: onOtherHost,
    reason: 'lease-expired',
  },
];

for (const { where, args, elsewhere, reason } of cases) {
  test.concurrent(`the other runner is ${where}: ${reason}`, async ({ flow, started }) => {
    const first = await started(args);
    const { id } = await flow.here(['run', 'held']);
    await until('the first start', () => flow.events().includes(`start 1 ${first.pid}`));
    const second = await started(args, elsewhere);
    // Neighbours are listed every five seconds; who was there before is known.
    const store = await flow.store();
    await until('both are known', async () => (await store.listRunners()).length === 2);
    first.child.kill('SIGKILL');
    await until('the second start', () => flow.events().includes(`start 2 ${second.pid}`));
    flow.allow('release');
    const run = await endOf(flow, id);
    expect(outcomes(run, 'held')).toEqual([
      ['lost', first.id],
      ['succeeded', second.id],
    ]);
    const [lost] = run.tasks.find(({ jobId }) => jobId === 'held')?.attempts ?? [];
    expect(lost?.loss).toMatchObject({ reason });
  }, 300_000);
}
