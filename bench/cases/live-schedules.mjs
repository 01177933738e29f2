/**
 * 20 schedules that fire each second for a minute, three runner processes, the leader killed twice. Lateness counts while a leader
 * lives: from the logical date until the run is made, and until it is started (clock of the database), and to the first line of
 * the job (clock of this machine). What was due without a leader is judged by the audit: a run or a line.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { MongoClient } from 'mongodb';
import { percentile } from '../support/figures.mjs';
import { secondJobs } from '../support/second-jobs.mjs';
import { openSystem, until } from '../support/system.mjs';

export const name = 'live schedules';

const DAGS = 20;
const RUNNERS = 3;
const file = fileURLToPath(new URL('../support/runner-process.mjs', import.meta.url));

export async function measure(target, { small }) {
  const seconds = small ? 15 : 60;
  const system = await openSystem(
    target,
    secondJobs(DAGS, () => {}),
  );
  const starts = [];
  /** Spans without a leader, from its death to the next one's election. */
  const gaps = [];
  const children = new Set();
  let leader;
  const startRunner = () => {
    const child = fork(file, [JSON.stringify(system.connection), String(DAGS)]);
    children.add(child);
    child.on('exit', () => children.delete(child));
    return new Promise((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`a runner ended with ${code}`)));
      child.on('message', (message) => {
        if (message.kind === 'start') starts.push(message);
        if (message.kind === 'started') resolve(child);
        if (message.kind !== 'won') return;
        leader = child;
        const open = gaps.at(-1);
        if (open !== undefined && open.to === Number.POSITIVE_INFINITY) open.to = message.at;
      });
    });
  };
  try {
    await Promise.all(Array.from({ length: RUNNERS }, startRunner));
    // The first seconds belong to compilers and caches.
    await until(() => starts.length >= 15 * DAGS, 60_000);
    const from = Date.now();
    for (let kill = 1; kill <= 2; kill += 1) {
      await until(() => Date.now() >= from + (kill * seconds * 1_000) / 3, 120_000, 100);
      const victim = leader;
      leader = undefined;
      gaps.push({ from: Date.now(), to: Number.POSITIVE_INFINITY });
      victim.kill('SIGKILL');
      await until(() => leader !== undefined, 60_000);
    }
    await until(() => Date.now() >= from + seconds * 1_000, 120_000, 100);
    const to = Date.now();
    for (const child of children) child.kill('SIGTERM');
    await until(() => children.size === 0, 60_000);
    const { violations } = await system.store.audit();
    for (const violation of violations) process.stderr.write(`${JSON.stringify(violation)}\n`);
    const isLed = (logical) =>
      logical >= from &&
      logical < to &&
      // A fire just before a death may have to wait for the next leader, and one just after an election waits for nobody.
      !gaps.some((gap) => logical >= gap.from - 1_000 && logical <= gap.to);
    // What a killed runner had begun is begun again.
    const first = starts.filter(({ attempt }) => attempt === 1);
    const lateness = first
      .filter(({ logical }) => isLed(logical))
      .map(({ logical, at }) => at - logical);
    const runs = (await runsOf(system.connection)).filter((run) =>
      isLed(run.logicalDate.getTime()),
    );
    const made = runs.map((run) => run.createdAt - run.logicalDate);
    const started = runs.map(
      (run) => (run.startedAt ?? Number.POSITIVE_INFINITY) - run.logicalDate,
    );
    const once = new Set(first.map(({ dag, logical }) => `${dag} ${logical}`));
    return [
      { figure: `run made, p50 of ${made.length}`, value: percentile(made, 0.5), unit: 'ms' },
      { figure: 'run made, p99', value: percentile(made, 0.99), unit: 'ms' },
      { figure: 'run started, p50', value: percentile(started, 0.5), unit: 'ms' },
      { figure: 'run started, p99', value: percentile(started, 0.99), unit: 'ms' },
      {
        figure: `first line of the job, p50 of ${lateness.length}`,
        value: percentile(lateness, 0.5),
        unit: 'ms',
      },
      { figure: 'first line of the job, p99', value: percentile(lateness, 0.99), unit: 'ms' },
      {
        figure: 'longest time without a leader',
        value: Math.max(...gaps.map((gap) => gap.to - gap.from)) / 1_000,
        unit: 's',
      },
      { figure: 'starts of one logical date twice', value: first.length - once.size, unit: '' },
      { figure: 'violations found by the audit', value: violations.length, unit: '' },
    ];
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await system.close();
  }
}

async function runsOf({ uri, database }) {
  const client = await MongoClient.connect(uri);
  try {
    const projection = { _id: 0, logicalDate: 1, createdAt: 1, startedAt: 1 };
    return await client.db(database).collection('runs').find({}, { projection }).toArray();
  } finally {
    await client.close();
  }
}
