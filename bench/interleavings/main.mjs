/**
 * The encounters of test/faults for as long as asked, each stretch with seeds of its own:
 *
 *     node bench/interleavings/main.mjs --minutes 30 --seed 1000 --stretch 2000
 *
 * A seed that fails is printed with who went when; FLOW_TEST_SEED=<seed> FLOW_TEST_SEEDS=1 plays it again. Ends with status 1
 * at the first failure.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    stretch: { type: 'string', default: '1000' },
  },
});
const root = fileURLToPath(new URL('../..', import.meta.url));
const until = Date.now() + Number(values.minutes) * 60_000;
const stretch = Number(values.stretch);
let first = Number(values.seed);

while (Date.now() < until) {
  const { status } = spawnSync(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      'test/faults/interleavings.test.ts',
      '--testTimeout=3600000',
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, FLOW_TEST_SEED: String(first), FLOW_TEST_SEEDS: String(stretch) },
    },
  );
  if (status !== 0) process.exit(1);
  first += stretch;
  console.log(`seeds up to ${first - 1} of each encounter broke nothing`);
}
