/** The zone of the machine has no say: processes in different zones give the same fires. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);
const core = new URL('../../packages/core/dist/index.js', import.meta.url).href;

const script = `
  const { nextFires, previousFires, firesBetween } = await import(${JSON.stringify(core)});
  const zones = ['America/New_York', 'America/Sao_Paulo', 'Australia/Lord_Howe', 'Africa/Cairo', 'UTC'];
  const fires = zones.flatMap((timeZone) => {
    const schedule = { cron: '*/30 0-3 * * *', timeZone };
    const after = new Date('2026-03-07T00:00:00Z');
    const before = new Date('2018-11-05T00:00:00Z');
    return [
      nextFires(schedule, { after, count: 30 }),
      previousFires(schedule, { before, count: 30 }),
      firesBetween({ ...schedule, cron: '0 * * * *' }, after, new Date('2026-03-09T00:00:00Z')),
      nextFires({ every: '7h', startAt: '2026-03-08T02:30', timeZone }, { after, count: 5 }),
    ];
  });
  console.log(new Date(0).getHours(), JSON.stringify(fires));
`;

it('gives the same fires whatever TZ says', async () => {
  const outputs = await Promise.all(
    ['UTC', 'America/New_York', 'Pacific/Apia', 'Asia/Kathmandu'].map(async (TZ) => {
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], {
        env: { ...process.env, TZ },
      });
      const [hour, ...rest] = stdout.trim().split(' ');
      return { hour, fires: rest.join(' ') };
    }),
  );
  // The zones did reach the processes.
  expect(new Set(outputs.map(({ hour }) => hour)).size).toBe(4);
  expect(outputs[0]!.fires.length).toBeGreaterThan(5_000);
  expect(new Set(outputs.map(({ fires }) => fires)).size).toBe(1);
});
