/**
 * One runner in a process of its own: `fork(file, [connection as JSON, number of DAGs])`. Tells its parent of each start and of
 * each change of its leadership, with the wall clock of the machine that both share.
 */
import { executableJobs } from '@flowline/core/internal';
import { Runner } from '@flowline/runner';
import { secondJobs } from './second-jobs.mjs';

const [connection, count] = process.argv.slice(2).map((argument) => JSON.parse(argument));
const classes = secondJobs(count, (ctx) => {
  process.send({
    kind: 'start',
    dag: ctx.dag,
    logical: ctx.logicalDate.getTime(),
    attempt: ctx.attempt,
    at: Date.now(),
  });
});
const runner = new Runner({ connection, jobs: executableJobs(classes), concurrency: 100 });
runner.events.on('leader-won', () => process.send({ kind: 'won', at: Date.now() }));
await runner.start();
process.send({ kind: 'started' });
process.on('SIGTERM', async () => {
  await runner.stop();
  process.exit(0);
});
