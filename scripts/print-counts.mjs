/** Prints the last line that CI reads: how many tests passed and failed, from vitest's JSON report. */
import { readFileSync } from 'node:fs';

const report = JSON.parse(readFileSync(process.argv[2], 'utf8'));
// A file that could not even be loaded has no test that failed, and is a failure all the same.
const broken = report.testResults.filter(
  ({ status, assertionResults }) =>
    status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
).length;
const failed = report.numFailedTests + broken;
process.stdout.write(`${report.numPassedTests} passed, ${failed} failed\n`);
if (failed > 0) process.exitCode = 1;
