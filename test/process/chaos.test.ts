/** Two minutes of chaos with 3 to 8 real runners; see bench/chaos. CHAOS_SEED and CHAOS_MINUTES ask for others. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../../bench/chaos/main.mjs', import.meta.url));
const seed = Number(process.env.CHAOS_SEED ?? 1);
const minutes = Number(process.env.CHAOS_MINUTES ?? 2);

test(`${minutes} minutes of chaos with seed ${seed} violate nothing`, async () => {
  const args = [main, '--minutes', String(minutes), '--seed', String(seed), '--json'];
  const { code, stdout, stderr } = await new Promise<{
    code: unknown;
    stdout: string;
    stderr: string;
  }>((resolve) => {
    execFile(process.execPath, args, { maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
  const report = JSON.parse(stdout || '{}');
  expect({ seed, violations: report.violations }, stderr).toEqual({ seed, violations: [] });
  expect(code).toBe(0);
  // It did break something, and work was done.
  expect(report.kills + report.stops + report.drains).toBeGreaterThan(0);
  expect(report.runs).toBeGreaterThan(10);
}, 600_000);
