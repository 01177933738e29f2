/**
 * `npm run bench [-- --only drain --small --json file]`: measures on the embedded database, and on
 * FLOW_TEST_MONGODB_URI if set. Prints a table; the JSON goes to bench/results.json. Nothing here is a test.
 */
import { writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { round, textTable } from './support/figures.mjs';
import { openTarget } from './support/system.mjs';

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    small: { type: 'boolean', default: false },
    json: { type: 'string', default: fileURLToPath(new URL('results.json', import.meta.url)) },
  },
});
const files = [
  'start-up',
  'enumerate-fires',
  'trigger-latency',
  'diamond',
  'drain',
  'cron-lateness',
  'live-schedules',
  'idle-load',
  'long-backfill',
];
const chosen =
  flags.only === undefined ? files : files.filter((file) => flags.only.split(',').includes(file));
if (chosen.length === 0)
  throw new Error(`--only: expected some of ${files.join(', ')}, found ${flags.only}`);

const targets = [
  undefined,
  ...(process.env.FLOW_TEST_MONGODB_URI ? [process.env.FLOW_TEST_MONGODB_URI] : []),
];
const rows = [];
for (const uri of targets) {
  const target = await openTarget(uri);
  try {
    for (const file of chosen) {
      const { name, measure } = await import(`./cases/${file}.mjs`);
      process.stderr.write(`${target.name}: ${name}\n`);
      for (const row of await measure(target, flags)) {
        rows.push({ target: target.name, case: name, ...row, value: round(row.value) });
      }
    }
  } finally {
    await target.close();
  }
}
const machine = {
  cpu: cpus()[0]?.model,
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.version,
};
await writeFile(
  flags.json,
  `${JSON.stringify({ at: new Date().toISOString(), machine, rows }, null, 2)}\n`,
);
for (const { name } of [{ name: 'embedded' }, { name: 'mongodb' }]) {
  const own = rows.filter((row) => row.target === name);
  if (own.length > 0)
    process.stdout.write(
      `\n${name}, ${machine.cores} cores, node ${machine.node}\n${textTable(own)}\n`,
    );
}
