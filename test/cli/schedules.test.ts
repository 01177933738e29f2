/** What a person sees of schedules: the plan of a deploy, changes of clocks, pauses, and every reason why a fire did not run. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dateSlot } from '../../packages/core/src/model/ids.js';
import { fireReasons } from '../../packages/core/src/model/states.js';
import { encodeDefinition, versionKey } from '../../packages/core/src/store/version-cache.js';
import { Bench, definitionOf, deployment, minutesBefore } from '../store/scheduling.ts';
import { flowHere } from '../support/flow-in-process.ts';
import { until } from '../support/until.ts';

let bench: Bench;
let folder: string;
beforeAll(async () => {
  bench = await Bench.open();
  folder = mkdtempSync(join(tmpdir(), 'flow-schedules-'));
});
afterAll(async () => {
  await bench.close();
  rmSync(folder, { recursive: true, force: true });
});

function flow(args: readonly string[], cwd = folder) {
  const env = { FLOW_MONGODB_URI: bench.uri, FLOW_DATABASE: bench.db.databaseName };
  return flowHere(args, { cwd, env });
}

async function json(args: readonly string[], cwd = folder) {
  const { code, stdout, stderr } = await flow([...args, '--json'], cwd);
  if (code !== 0) throw new Error(`flow ${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

/** A project of one job, whose file is read anew for each schedule: a module is loaded once. */
function project(name: string, schedule: string): string {
  const root = mkdtempSync(join(folder, 'project-'));
  mkdirSync(join(root, 'jobs'));
  writeFileSync(join(root, 'flow.config.ts'), `export default { project: '${name}' };\n`);
  writeFileSync(
    join(root, 'jobs/nightly.job.ts'),
    `import { Job } from '@flowline/core';\n@Job({ id: '${name}', schedule: ${schedule} })\nexport class Nightly {\n  async run() {}\n}\n`,
  );
  return root;
}

const localTimes = (fires: { local: string }[]) => fires.map(({ local }) => local.slice(11, 16));

describe('flow deploy', () => {
  it('shows the next five fires before and after a change, in a dry run too', async () => {
    // Hours that do not begin while the test runs.
    const hour = new Date().getUTCHours();
    const [early, late] = [6, 12].map((later) => String((hour + later) % 24).padStart(2, '0'));
    const first = project('moved', `{ cron: '30 ${early} * * *' }`);
    const added = await json(['deploy'], first);
    expect(added.dags[0]).toMatchObject({ change: 'added', nextFires: { before: [] } });
    expect(localTimes(added.dags[0].nextFires.after)).toEqual(Array(5).fill(`${early}:30`));

    const second = project('moved', `{ cron: '45 ${late} * * *' }`);
    const text = await flow(['deploy', '--dry-run'], second);
    expect(text.stdout).toMatch(
      new RegExp(`^changed +moved .*\\n {4}next fires before: \\S+T${early}:30:00\\+00:00, `),
    );
    expect(text.stdout).toMatch(
      new RegExp(`\\n {4}next fires after: {2}\\S+T${late}:45:00\\+00:00, `),
    );
    const dry = await json(['deploy', '--dry-run'], second);
    expect(localTimes(dry.dags[0].nextFires.before)).toEqual(Array(5).fill(`${early}:30`));
    expect(localTimes(dry.dags[0].nextFires.after)).toEqual(Array(5).fill(`${late}:45`));
    expect(await json(['next', 'moved'])).toEqual(added.dags[0].nextFires.after);

    await flow(['pause', 'moved']);
    const changed = await json(['deploy'], second);
    expect(changed.dags[0].nextFires.after[0].note).toBe('paused');
    const again = await flow(['deploy'], second);
    expect(again.stdout).not.toContain('next fires');
  });

  it('warns where a schedule meets a change of clocks, on stderr and as warnings', async () => {
    const root = project('touched', "{ cron: '30 2 * * *', timeZone: 'Europe/Paris' }");
    const [compiled, deployed, said] = [
      await json(['compile'], root),
      await json(['deploy', '--dry-run'], root),
      await flow(['compile'], root),
    ];
    expect(compiled.problems).toEqual([]);
    for (const [warning] of [compiled.warnings, deployed.warnings]) {
      expect(warning).toMatchObject({
        code: 'schedule-clock-change',
        severity: 'warning',
        file: expect.stringMatching(/nightly\.job\.ts$/),
      });
      expect(warning.message).toMatch(
        /\n20\d\d-03-\d\d: 02:30 does not exist and fires 1h later\n/,
      );
    }
    expect(said).toMatchObject({ code: 0 });
    expect(said.stderr).toMatch(
      /^warning .*\[schedule-clock-change\]\n {2}at jobs\/nightly.job.ts:\d+\n/,
    );
  });

  it('mends a schedule that cannot be evaluated, whether or not a leader has noticed', async () => {
    await bench.deploy('damaged', { every: '1h' });
    const { version } = await bench.dag('damaged');
    const _id = versionKey('damaged', version);
    await bench.collections.dagVersions.updateOne(
      { _id },
      { $set: { definition: await encodeDefinition(null as never) } },
    );
    await bench.collections.dags.updateOne({ _id: 'damaged' }, { $set: { project: 'damaged' } });
    const mended = await json(['deploy'], project('damaged', "{ every: '2h' }"));
    expect(mended.dags[0]).toMatchObject({ change: 'changed', nextFires: { before: [] } });
    expect(await bench.dag('damaged')).toMatchObject({ broken: null, state: 'active' });
  });
});

describe('flow next', () => {
  it('--across-dst shows the next two changes of clocks and the fires around them', async () => {
    const args = ['next', '--cron', '30 2 * * *', '--tz', 'Europe/Paris', '--across-dst'];
    const changes = await json([...args, '--from', '2026-11-30']);
    expect(changes).toHaveLength(2);
    expect(changes[0]).toMatchObject({
      at: '2027-03-28T01:00:00.000Z',
      kind: 'gap',
      localFrom: '2027-03-28T02:00:00',
      localTo: '2027-03-28T03:00:00',
      offsetBefore: '+01:00',
      offsetAfter: '+02:00',
      effect: '02:30 does not exist and fires 1h later',
    });
    expect(changes[0].fires.map(({ local }: { local: string }) => local.slice(0, 16))).toEqual([
      '2027-03-26T02:30',
      '2027-03-27T02:30',
      '2027-03-28T03:30',
      '2027-03-29T02:30',
      '2027-03-30T02:30',
    ]);
    expect(changes[1]).toMatchObject({ at: '2027-10-31T01:00:00.000Z', kind: 'overlap' });
    const text = await flow([...args, '--from', '2026-11-30']);
    expect(text.stdout).toMatch(
      /^2027-03-28 01:00:00Z {2}gap: .* does not exist \(\+01:00 -> \+02:00\)\n/,
    );
    const fixed = await flow(['next', '--cron', '30 2 * * *', '--across-dst']);
    expect(fixed).toMatchObject({ code: 0, stdout: '' });
    expect(fixed.stderr).toContain('clocks do not change in UTC');
  });

  it('marks gaps, overlaps, excluded and paused dates, and what became of those that are over', async () => {
    const id = bench.id('marked');
    await bench.deploy(id, {
      cron: '30 2 * * *',
      timeZone: 'Europe/Paris',
      exclude: ['2028-03-27', '2028-10-28'],
    });
    const notesFrom = async (from: string) =>
      (await json(['next', id, '--from', from, '--count', '2'])).map(
        ({ note }: { note: string | null }) => note,
      );
    expect(await notesFrom('2028-03-26')).toEqual([
      'gap: 02:30 does not exist, fires at 03:30',
      'excluded',
      null,
    ]);
    expect(await notesFrom('2028-10-28')).toEqual([
      'excluded',
      'overlap: 02:30 comes twice, this is the first',
      null,
    ]);
    await bench.store.pauseDag(id);
    expect(await notesFrom('2028-03-27')).toEqual(['excluded; paused', 'paused', 'paused']);
    const text = await flow(['next', id, '--from', '2028-03-26', '--count', '1']);
    expect(text.stdout).toMatch(
      /2028-03-26 01:30:00Z +2028-03-26T03:30:00\+02:00 +gap: .*; paused\n/,
    );
  });
});

describe('the coming fires', () => {
  it('leave out an excluded date in flow dags, and mark it in flow show', async () => {
    const id = bench.id('excluding');
    await bench.deploy(id, { cron: '30 2 * * *', exclude: ['2028-03-26'] });
    await bench.rewind(id, new Date('2028-03-26T02:30:00Z'));
    const dags = await flow(['dags']);
    const line = dags.stdout.split('\n').find((one) => one.startsWith(`${id} `));
    expect(line).toContain(' 2028-03-27 02:30:00Z ');
    const [dag] = (await json(['dags'])).filter((one: { id: string }) => one.id === id);
    expect(dag.nextFireAt).toBe('2028-03-27T02:30:00.000Z');
    const show = await flow(['show', id]);
    expect(show.stdout).toContain(
      'next fires: 2028-03-26T02:30:00+00:00 (excluded), 2028-03-27T02:30:00+00:00, ',
    );
  });

  it('are none for a retired DAG', async () => {
    const id = bench.id('retired');
    await bench.deploy(id, { every: '1h' });
    await bench.store.pauseDag(id);
    await bench.store.retireDag(id, 'tests');
    const next = await flow(['next', id]);
    expect(next).toMatchObject({ code: 2, stdout: '' });
    expect(next.stderr).toContain(`${id} is retired`);
    const dags = await flow(['dags', '--all']);
    const line = dags.stdout.split('\n').find((one) => one.startsWith(`${id} `));
    expect(line).toMatch(/ - +0 +retired/);
  });

  it('of a DAG without a schedule: says so, also where one asks for fires that did not run', async () => {
    const id = bench.id('on-demand');
    await bench.deploy(id);
    expect((await flow(['fires', id])).stderr).toContain('runs on demand');
    expect((await flow(['next', id])).stderr).toContain('runs on demand');
  });
});

describe('every reason why a fire did not become a run', () => {
  /** Whole hours before the present hour. */
  const hoursAgo = async (hours: number) => {
    const now = await bench.store.readServerTime();
    return minutesBefore(new Date(Math.floor(now.getTime() / 3_600_000) * 3_600_000), hours * 60);
  };

  /** A DAG of each reason, by whatever leads to it. */
  const scenes: Readonly<Record<string, (id: string) => Promise<void>>> = {
    async skipped(id) {
      await bench.deploy(id, { every: '1h' }, { misfire: { policy: 'skip', maxCatchUp: 100 } });
      await bench.rewind(id, await hoursAgo(3));
      await bench.settle(id);
    },
    async expired(id) {
      const misfire = { policy: 'catch-up', maxCatchUp: 100, windowMs: 9_000_000 } as const;
      await bench.deploy(id, { every: '1h' }, { misfire });
      await bench.rewind(id, await hoursAgo(6));
      await bench.settle(id);
    },
    async capped(id) {
      await bench.deploy(id, { every: '1h' }, { misfire: { policy: 'catch-up', maxCatchUp: 2 } });
      await bench.rewind(id, await hoursAgo(6));
      await bench.settle(id);
    },
    async paused(id) {
      await bench.deploy(id, { every: '1h' });
      await bench.store.pauseDag(id);
      const from = minutesBefore(await hoursAgo(3), 1);
      await bench.rewind(id, await hoursAgo(3));
      await bench.collections.dags.updateOne(
        { _id: id },
        { $set: { pausedAt: from, 'pausedSpans.0.from': from } },
      );
      await bench.store.resumeDag(id);
      await bench.settle(id);
    },
    async overlap(id) {
      await bench.deploy(id, { every: '1h' }, { overlap: 'skip' });
      for (const hours of [3, 2]) {
        const logicalDate = await hoursAgo(hours);
        const slot = dateSlot(logicalDate);
        await bench.store.createRun({ dagId: id, cause: 'schedule', slot, logicalDate });
      }
      await bench.store.admitRuns(id);
    },
    async excluded(id) {
      const instants = [await hoursAgo(3), await hoursAgo(2)];
      await bench.deploy(id, { every: '1h', exclude: instants });
      await bench.rewind(id, instants[0]!);
      await bench.settle(id);
    },
    async broken(id) {
      const definition = definitionOf(id, { every: '1h' });
      const { version } = deployment(definition);
      await bench.deploy(id, { every: '1h' });
      const spoilt = { ...definition, schedule: { ...definition.schedule, everyMs: 0 } };
      await bench.collections.dagVersions.updateOne(
        { _id: versionKey(id, version) },
        { $set: { definition: await encodeDefinition(spoilt as typeof definition) } },
      );
      await bench.rewind(id, await hoursAgo(3));
      // A store that has not read the sound definition before.
      await bench.settle(id, await bench.connect());
    },
  };

  it('has a scene here (a coalesced fire is counted in its run)', () => {
    expect(Object.keys(scenes).sort()).toEqual(
      fireReasons.filter((reason) => reason !== 'coalesced').sort(),
    );
  });

  it.each(Object.keys(scenes))('%s: listed by flow fires, counted by flow show', async (reason) => {
    const id = bench.id(reason);
    await scenes[reason]!(id);
    const fires: { reason: string; count: number; localFrom: string | null }[] = await json([
      'fires',
      id,
    ]);
    const own = fires.filter((fire) => fire.reason === reason);
    expect(own.length).toBeGreaterThan(0);
    const count = own.reduce((sum, fire) => sum + fire.count, 0);
    const shown = await json(['show', id]);
    expect(shown.fires[reason]).toBe(count);
    const [list, text, dags] = [
      await flow(['fires', id]),
      await flow(['show', id]),
      await flow(['dags']),
    ];
    expect(list.stdout).toMatch(new RegExp(` ${reason} `));
    expect(text.stdout).toContain(`${count} ${reason}`);
    expect(dags.code).toBe(0);
    if (reason === 'broken') {
      expect(dags.stdout).toMatch(new RegExp(`${id} .*schedule broken: .*everyMs`));
      expect(text.stdout).toContain('the schedule cannot be evaluated');
      expect((await json(['dags'])).find((dag: { id: string }) => dag.id === id).broken).toMatch(
        /everyMs/,
      );
      expect(await flow(['next', id])).toMatchObject({ code: 2 });
    } else {
      expect(own[0]!.localFrom).toMatch(/\+00:00$/);
    }
  });
});

describe('missed expectations', () => {
  it('are shown by flow show of the DAG and of the run, and in the JSON of runs', async () => {
    const id = bench.id('late');
    await bench.deploy(id, { every: '1h' }, { expectWithin: { startMs: 1 } });
    const { runId } = await bench.store.createRun({ dagId: id, cause: 'manual' });
    await until('the record', async () => (await bench.store.noticeMissed(100)).noticed > 0);
    const shown = await json(['show', id]);
    expect(shown.missed).toEqual({
      start: 1,
      recent: [
        {
          dag: id,
          kind: 'start',
          run: runId,
          logicalDate: null,
          count: 1,
          expectedBy: expect.stringMatching(/Z$/),
          missedAt: expect.stringMatching(/Z$/),
        },
      ],
    });
    const [dagText, runText, runs] = [
      await flow(['show', id]),
      await flow(['show', runId]),
      await json(['runs', id]),
    ];
    expect(dagText.stdout).toMatch(
      new RegExp(
        `missed expectations: 1 start\\n {2}.*run ${runId} did not start by .*, noticed at `,
      ),
    );
    expect(runText.stdout).toMatch(/missed expectation: .* did not start by /);
    expect(runs[0].missed).toEqual(['start']);
    const other = await bench.store.createRun({ dagId: id, cause: 'manual', delayMs: 3_600_000 });
    expect((await json(['show', other.runId])).missed).toEqual([]);
  });
});
