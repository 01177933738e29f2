/**
 * One run of chaos: a database, 3 to 8 runner processes, work, an adversary; then rest, and the judgement from what is stored.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectStore } from '@flowline/core/internal';
import { MongoClient } from 'mongodb';
import { breakThings, runnerArgs } from './adversary.mjs';
import { startDatabase, useDatabase } from './database.mjs';
import { countUnrecordedEffects, readJournal, violationsOfEffects } from './journal.mjs';
import { seeded } from './random.mjs';
import { recoveriesOf } from './recoveries.mjs';
import { RunnerSlot } from './runner-slot.mjs';
import { startProxy } from './tcp-proxy.mjs';
import { askForWork, insist, pause, within } from './workload.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const binary = fileURLToPath(new URL('../../packages/cli/bin/flow.js', import.meta.url));

/** Machines of the fleet, by slot: some share one, some are alone on theirs. */
const hosts = [null, 'host-b', 'host-c', null, 'host-d', 'host-b', null, 'host-c'];
const clockOffsets = [0, 600_000, 0, 0, 0, -600_000, 0, 0];
const proxied = new Set([0, 4, 7]);

/**
 * @param {{ seed: number, minutes: number, leaseSeconds: number, runners?: number, uri?: string,
 *   only?: readonly string[],
 *   tell?: (line: string) => void }} options
 */
export async function runChaos(options) {
  const { seed, minutes, leaseSeconds, uri, tell = () => {} } = options;
  const random = seeded(seed);
  const folder = await mkdtemp(join(tmpdir(), 'flowline-chaos-'));
  const database =
    uri === undefined ? await startDatabase(join(folder, 'data')) : await useDatabase(uri);
  const notes = [
    ...(database.whyNoRestart ? [`the database is not restarted: ${database.whyNoRestart}`] : []),
    ...(database.whyNoProxy ? [`no connection is cut: ${database.whyNoProxy}`] : []),
  ];
  const count = options.runners ?? 3 + Math.floor(random() * 6);
  const lastsMs = minutes * 60_000;
  const blockMs = Math.round(Math.min(45_000, lastsMs * 0.4));
  const connection = { uri: database.uri, database: `chaos_${randomUUID().slice(0, 8)}` };
  const journalFile = join(folder, 'journal');
  const env = {
    ...withoutFlowSettings(process.env),
    CI: '1',
    NO_COLOR: '1',
    FLOW_DATABASE: connection.database,
    FLOW_LOG_LEVEL: 'info',
    CHAOS_JOURNAL: journalFile,
    CHAOS_BLOCK_MS: String(blockMs),
  };
  const proxies = [];
  const slots = [];
  let store;
  try {
    store = await connectStore(connection);
    await store.prepare();
    for (let number = 0; number < count; number += 1) {
      const proxy =
        proxied.has(number) && database.target !== null ? await startProxy(database.target) : null;
      if (proxy !== null) proxies.push(proxy);
      const slot = new RunnerSlot(number, {
        host: hosts[number],
        clockOffsetMs: clockOffsets[number],
        proxy,
        args: [...runnerArgs, '--lease', `${leaseSeconds}s`],
        env: {
          ...env,
          FLOW_MONGODB_URI: proxy === null ? connection.uri : database.uriThrough(proxy.port),
        },
      });
      slots.push(slot);
      slot.start();
    }
    await Promise.all(slots.map((slot) => slot.started));
    tell(`${count} runners: ${slots.map((slot) => slot.name).join('; ')}`);
    // The schedules fire for as long as things are broken.
    const endAt = new Date((await store.readServerTime()).getTime() + lastsMs + 3_000);
    await deploy({
      ...env,
      FLOW_MONGODB_URI: connection.uri,
      CHAOS_END_AT: endAt.toISOString(),
    });
    const until = AbortSignal.timeout(lastsMs);
    const [asked, damage] = await Promise.all([
      askForWork({
        connection,
        store,
        random: seeded(seed + 1),
        signal: until,
        withBlocking: true,
        withBackfill: true,
      }),
      breakThings({
        slots,
        database,
        random,
        leaseMs: leaseSeconds * 1_000,
        blockMs,
        only: options.only,
        signal: until,
        tell,
      }),
    ]);
    const violations = [...asked.violations, ...damage.violations];
    violations.push(...unexpectedEnds(slots, damage));
    tell('coming to rest');
    const firstRestMs = await comeToRest(
      store,
      violations,
      90_000 + blockMs + leaseSeconds * 4_000,
    );
    const audited = await auditAtRest(store, violations, leaseSeconds * 1_000);
    const runs = await allRuns(store);
    violations.push(...(await violationsOfHistory(store, runs, asked)));
    const journal = readJournal(journalFile);
    violations.push(...violationsOfEffects(journal, runs));
    violations.push(...(await stopAll(slots, store)));
    return {
      seed,
      minutes,
      database: database.name,
      runners: count,
      leaseSeconds,
      notes,
      kills: damage.kills.length,
      stops: damage.stops,
      drains: damage.drains,
      cuts: damage.cuts,
      delays: damage.delays,
      restarts: damage.restarts,
      ...counts(runs),
      unrecordedEffects: countUnrecordedEffects(journal, runs),
      recoveries: recoveriesOf(journal, damage, leaseSeconds * 1_000),
      restSeconds: firstRestMs / 1_000,
      audited,
      violations,
      output:
        violations.length === 0
          ? null
          : slots.map((slot) => `${slot.name}\n${slot.output}`).join('\n'),
    };
  } finally {
    for (const slot of slots) {
      slot.signal('SIGCONT');
      slot.signal('SIGKILL');
    }
    await Promise.all(slots.filter((slot) => slot.isAlive).map((slot) => slot.ended));
    await store?.close();
    await Promise.all(proxies.map((proxy) => proxy.close()));
    if (uri !== undefined) await drop(connection);
    await database.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function withoutFlowSettings(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^(FLOW|CHAOS)_/.test(name)));
}

async function deploy(env) {
  const child = spawn(process.execPath, [binary, 'deploy', '--yes'], {
    cwd: here,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (piece) => {
    said += piece;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`flow deploy ended with ${code}: ${said}`);
}

/** A runner may end because it was told to, and for no other reason. */
function unexpectedEnds(slots, damage) {
  const killed = new Set(damage.kills.map(({ pid }) => pid));
  return slots.flatMap((slot) =>
    slot.exits
      .filter(({ pid, code }) => !killed.has(pid) && code !== 143 && code !== 4)
      .map(
        ({ pid, code, signal }) =>
          `${slot.name}, pid ${pid}, ended by itself with ${code ?? signal}`,
      ),
  );
}

/** Waits until no run is open and no backfill runs, for as long as something moves: a slow machine may take its time. */
async function comeToRest(store, violations, deadlineMs) {
  const startedAt = performance.now();
  let movedAt = startedAt;
  let seen = '';
  for (;;) {
    const open = await insist(() => store.listRuns({ state: ['queued', 'running'], limit: 1_000 }));
    const backfills = await insist(() => store.listBackfills({ state: ['running', 'paused'] }));
    const due = await insist(() => store.findDueDags(100));
    const now = performance.now();
    const took = now - startedAt;
    const state = JSON.stringify([open.map((run) => [run.id, run.state]), backfills, due]);
    if (state !== seen) movedAt = now;
    seen = state;
    if (open.length === 0 && backfills.length === 0 && due.length === 0) return took;
    if (now - movedAt > deadlineMs) {
      for (const run of open.slice(0, 20)) {
        const view = await store.viewRun(run.id);
        const tasks = view.tasks.map(({ jobId, state }) => `${jobId} ${state}`).join(', ');
        violations.push(
          `the run ${run.id} of ${run.dagId} is still ${run.state} at rest: ${tasks}`,
        );
      }
      for (const { id, state } of backfills)
        violations.push(`the backfill ${id} is still ${state} at rest`);
      for (const dagId of due) violations.push(`${dagId} is still due at rest`);
      return took;
    }
    await pause(200, undefined);
  }
}

/**
 * Everything that must hold, of the history alone; a step that is still allowed its lease and two polls is waited for, and
 * on a slow machine a minute more: what was broken for good does not mend. Returns how much was looked at.
 */
async function auditAtRest(store, violations, leaseMs) {
  const pollMs = 2_000;
  await pause(leaseMs + 2 * pollMs + 500, undefined);
  const latest = performance.now() + 60_000;
  let report = await store.audit({ atRest: true, leaseMs, pollMs });
  while (report.violations.length > 0 && performance.now() < latest) {
    await pause(pollMs, undefined);
    report = await store.audit({ atRest: true, leaseMs, pollMs });
  }
  for (const { invariant, subject, expected, found } of report.violations)
    violations.push(`${invariant}: ${subject}: expected ${expected}, found ${found}`);
  return report.counts;
}

/** Every run with its tasks. */
async function allRuns(store) {
  const runs = [];
  let before;
  for (;;) {
    const page = await store.listRuns({ limit: 500, ...(before === undefined ? {} : { before }) });
    for (const { id } of page) runs.push(await store.viewRun(id));
    if (page.length < 500) return runs;
    before = page.at(-1).id;
  }
}

async function violationsOfHistory(store, runs, asked) {
  const violations = [];
  const byId = new Map(runs.map((run) => [run.id, run]));
  for (const [key, runId] of asked.acknowledged) {
    if (!byId.has(runId))
      violations.push(`the run ${runId} (${key}) was acknowledged and is not there`);
  }
  for (const runId of asked.cancelled) {
    const run = byId.get(runId);
    if (run !== undefined && run.state === 'running')
      violations.push(`${runId} was cancelled and runs`);
  }
  if (asked.backfillId !== null) {
    const backfill = await store.getBackfill(asked.backfillId);
    const { total, succeeded, failed, cancelled, skipped } = backfill;
    if (succeeded + failed + cancelled + skipped !== total)
      violations.push(
        `the backfill counts ${JSON.stringify({ total, succeeded, failed, cancelled, skipped })}`,
      );
  }
  return violations;
}

/** All at once, as when a deployment is taken down: each drains and leaves nothing behind. */
async function stopAll(slots, store) {
  const violations = [];
  await Promise.all(
    slots.map(async (slot) => {
      const { pid, runnerId } = slot;
      slot.signal('SIGTERM');
      const end = await within(60_000, slot.ended);
      if (end === undefined) violations.push(`${slot.name}, pid ${pid}, did not end at rest`);
      else if (end.code !== 143)
        violations.push(`${slot.name}, pid ${pid}, ended with ${end.code ?? end.signal} at rest`);
      if (end !== undefined && (await store.listRunners()).some((runner) => runner.id === runnerId))
        violations.push(`${slot.name}, pid ${pid}, drained and left its record`);
    }),
  );
  return violations;
}

function counts(runs) {
  const tasks = runs.flatMap((run) => run.tasks);
  const attempts = tasks.flatMap((task) => task.attempts);
  const by = (list, field) => {
    const groups = {};
    for (const one of list) groups[one[field]] = (groups[one[field]] ?? 0) + 1;
    return groups;
  };
  return {
    runs: runs.length,
    runsByState: by(runs, 'state'),
    runsByCause: by(runs, 'cause'),
    tasks: tasks.length,
    tasksByState: by(tasks, 'state'),
    attempts: attempts.length,
    attemptsByOutcome: by(attempts, 'outcome'),
  };
}

async function drop({ uri, database }) {
  const client = await MongoClient.connect(uri);
  await client.db(database).dropDatabase();
  await client.close();
}
