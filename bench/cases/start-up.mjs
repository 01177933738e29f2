/** How long the `flow` command takes as a whole process; no database. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { median } from '../support/figures.mjs';

export const name = 'start-up of flow';

const flow = fileURLToPath(new URL('../../packages/cli/bin/flow.js', import.meta.url));
const exec = promisify(execFile);

export async function measure(_target, { small }) {
  const rounds = small ? 3 : 11;
  const rows = [];
  for (const args of [['--help'], ['next', '--cron', '0 2 * * *', '--tz', 'Europe/Paris']]) {
    const times = [];
    for (let round = 0; round <= rounds; round += 1) {
      const at = performance.now();
      await exec(process.execPath, [flow, ...args]);
      if (round > 0) times.push(performance.now() - at);
    }
    rows.push({
      figure: `flow ${args.slice(0, 2).join(' ')}, median of ${rounds}`,
      value: median(times),
      unit: 'ms',
    });
  }
  return rows;
}
