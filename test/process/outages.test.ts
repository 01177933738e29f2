/** The database dies and comes back: on the embedded one only, since another's MongoDB is not ours to kill. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { startDatabase } from '../../bench/chaos/database.mjs';
import { endOf, openFleet, outcomes, starter } from '../support/fleet.ts';
import { until } from '../support/until.ts';

const project = fileURLToPath(new URL('../fixtures/process', import.meta.url));

/** A server of its own, a sandbox on it, and what starts runners; all is gone afterwards. */
async function withDatabase(
  runnerArgs: readonly string[],
  use: (
    parts: Awaited<ReturnType<typeof open>> & {
      database: Awaited<ReturnType<typeof startDatabase>>;
    },
  ) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'flow-outage-'));
  const database = await startDatabase(join(folder, 'data'));
  const parts = await open(database.uri, runnerArgs);
  try {
    await use({ ...parts, database });
  } finally {
    await parts.flow.close();
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function open(uri: string, runnerArgs: readonly string[]) {
  const flow = await openFleet(project, 'held.job.ts', uri);
  return { flow, started: starter(flow, runnerArgs) };
}

/** How long the outage is the test's subject. */
const passing = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Seconds of a processor that a process has used; null where the system does not tell. */
function processorSeconds(pid: number): number | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return null;
  }
}

test.concurrent('away for 45 s, in the middle and at the start of a runner: nobody ends, nobody spins, work goes on', async () => {
  await withDatabase(['runner', '--lease', '5s'], async ({ flow, started, database }) => {
    const first = await started();
    const { id } = await flow.here(['run', 'held']);
    await until('the first start', () => flow.events().includes(`start 1 ${first.pid}`));
    flow.allow('deaf');
    await database.kill();
    const late = flow.spawn(['runner', '--lease', '5s']);
    await until('it says that it waits', () => /database/.test(late.output()));
    const before = [first.pid, late.pid].map(processorSeconds);
    await passing(45_000);
    for (const [index, { child, pid }] of [first, late].entries()) {
      expect([child.exitCode, child.signalCode]).toEqual([null, null]);
      const used = processorSeconds(pid);
      // A loop that does not wait would use all of the 45 s; a slow processor takes longer for the same.
      if (used !== null) expect(used - (before[index] as number)).toBeLessThan(15);
    }
    await database.restart();
    flow.allow('release');
    const { id: second } = await flow.here(['run', 'held']);
    const next = () => flow.events().filter((line) => line.startsWith('start 1')).length === 2;
    // 5 s is what is promised; this only tells it from a pause that has grown with the outage.
    await until('work goes on', next, 40_000);
    await late.started;
    // Whoever ended it: it was recorded once.
    for (const runId of [id, second]) {
      const run = await endOf(flow, runId);
      expect(run.state).toBe('succeeded');
      const ends = outcomes(run, 'held')?.map(([outcome]) => outcome) ?? [];
      expect(ends.filter((outcome) => outcome === 'succeeded')).toEqual(['succeeded']);
    }
    expect((await (await flow.store()).audit()).violations).toEqual([]);
  });
}, 300_000);

test.concurrent('away for 12 s: no lease of a living runner is lost', async () => {
  // Renewed every 8 s: what is left of it when the outage begins is twice the outage.
  await withDatabase(['runner', '--lease', '32s'], async ({ flow, started, database }) => {
    const first = await started();
    const { id } = await flow.here(['run', 'held']);
    await until('the first start', () => flow.events().includes(`start 1 ${first.pid}`));
    const second = await started();
    await database.kill();
    await passing(12_000);
    await database.restart();
    const store = await flow.store();
    await until('both are heard again', async () => {
      const now = await store.readServerTime();
      const heard = (await store.listRunners()).filter(
        ({ heartbeatAt }) => now.getTime() - heartbeatAt.getTime() < 5_000,
      );
      return heard.length === 2;
    });
    flow.allow('release');
    const run = await endOf(flow, id);
    expect(outcomes(run, 'held')).toEqual([['succeeded', first.id]]);
    expect(first.output() + second.output()).not.toMatch(/lease lost|let the lease lapse/);
  });
}, 300_000);

test.concurrent('restarted twice under load: every run comes to its end, each fire is one run', async () => {
  await withDatabase(['runner', '--lease', '5s'], async ({ flow, started, database }) => {
    await Promise.all([started(), started()]);
    await flow.here(['deploy', 'every-second.job.ts']);
    const store = await flow.store();
    const runsOf = () =>
      store.listRuns({ dagId: 'every-second', limit: 1_000 }).catch(() => [] as never[]);
    for (const least of [3, 8]) {
      await until(`${least} runs`, async () => (await runsOf()).length >= least);
      await database.kill();
      await database.restart();
    }
    await until('12 runs', async () => (await runsOf()).length >= 12);
    await flow.here(['pause', 'every-second']);
    const isOpen = ({ state }: { state: string }) => state === 'queued' || state === 'running';
    // Scheduled runs that were not admitted before the pause wait for its end.
    await until('their ends', async () =>
      (await runsOf()).every((run) => !isOpen(run) || run.state === 'queued'),
    );
    expect((await store.audit()).violations).toEqual([]);
  });
}, 300_000);
