/**
 * `npm run chaos -- [--minutes 2] [--seed 1] [--lease 5] [--runners 5] [--only kill,stop]
 * [--json]`: real runner processes on one database, and
 * somebody who breaks things. Prints what was broken, what became of it, and `violations: 0`; ends with 1 otherwise.
 *
 * On the embedded database, which is killed as well; on FLOW_TEST_MONGODB_URI where that is set. The seed decides what is
 * done when; what the machine makes of it differs from run to run.
 */
import { parseArgs } from 'node:util';
import { percentile } from '../support/figures.mjs';
import { kinds } from './adversary.mjs';
import { runChaos } from './run-chaos.mjs';

const { values: flags } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string' },
    lease: { type: 'string', default: '5' },
    runners: { type: 'string' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    quiet: { type: 'boolean', default: false },
  },
});

function numberFlag(name, from, to) {
  const value = Number(flags[name]);
  if (value >= from && value <= to) return value;
  process.stderr.write(
    `--${name}: expected a number from ${from} to ${to}, found ${flags[name]}\n`,
  );
  process.exit(2);
}

const only = flags.only?.split(',');
const unknown = only?.filter((kind) => !kinds.includes(kind)) ?? [];
if (unknown.length > 0) {
  process.stderr.write(
    `--only: expected some of ${kinds.join(', ')}, found ${unknown.join(', ')}\n`,
  );
  process.exit(2);
}

const uri = process.env.FLOW_TEST_MONGODB_URI;
const seed =
  flags.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : numberFlag('seed', 0, 2 ** 31);
const startedAt = performance.now();
const report = await runChaos({
  seed,
  minutes: numberFlag('minutes', 0.1, 24 * 60),
  leaseSeconds: numberFlag('lease', 1, 60),
  ...(flags.runners === undefined ? {} : { runners: numberFlag('runners', 1, 8) }),
  ...(uri ? { uri } : {}),
  ...(only === undefined ? {} : { only }),
  tell: (line) => {
    if (!flags.quiet)
      process.stderr.write(`${((performance.now() - startedAt) / 1_000).toFixed(1)} s  ${line}\n`);
  },
});

const inWords = (counts) =>
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');

function recoveryLine(name, recoveries) {
  const seconds = recoveries.map(({ ms }) => ms / 1_000);
  if (seconds.length === 0) return `recoveries ${name}: none`;
  const [p50, p99] = [0.5, 0.99].map((fraction) => percentile(seconds, fraction).toFixed(2));
  return `recoveries ${name}: ${seconds.length}, p50 ${p50} s, p99 ${p99} s`;
}

if (flags.json) process.stdout.write(`${JSON.stringify(report)}\n`);
else {
  const { kills, stops, drains, cuts, delays, restarts, recoveries } = report;
  const lines = [
    `chaos: seed ${seed}, ${report.minutes} minutes, ${report.runners} runners, lease ${report.leaseSeconds} s, ${report.database} database`,
    ...report.notes,
    `kills ${kills}, stops ${stops}, drains ${drains}, cuts ${cuts}, delays ${delays}, database restarts ${restarts}`,
    `runs ${report.runs} (${inWords(report.runsByState)}; ${inWords(report.runsByCause)})`,
    `tasks ${report.tasks} (${inWords(report.tasksByState)})`,
    `attempts ${report.attempts} (${inWords(report.attemptsByOutcome)})`,
    `effects of attempts that were not recorded: ${report.unrecordedEffects}`,
    recoveryLine(
      'undisturbed, where a neighbour can prove the death',
      recoveries.filter(({ undisturbed, provable }) => undisturbed && provable),
    ),
    recoveryLine(
      'undisturbed, by the lease',
      recoveries.filter(({ undisturbed, provable }) => undisturbed && !provable),
    ),
    recoveryLine(
      'of tasks that were hit again, while the database was away, or with no runner free',
      recoveries.filter(({ undisturbed }) => !undisturbed),
    ),
    `audited ${inWords(report.audited)}`,
    `at rest ${report.restSeconds.toFixed(1)} s after the last mishap`,
    `violations: ${report.violations.length}`,
    ...report.violations.map((violation) => `  ${violation}`),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
if (report.output !== null) process.stderr.write(`\n${report.output}\n`);
process.exitCode = report.violations.length === 0 ? 0 : 1;
