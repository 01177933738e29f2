import {
  describeFailure,
  describeReport,
  enumerateFaults,
  type SharedConnection,
  sampleTwoFaults,
  shareConnection,
} from '@flowline/core/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Bench } from '../store/scheduling.js';
import { scenariosOn } from './scenarios.js';
import { Scenes } from './scenes.js';

/** Of samples with two faults. Another one: FLOW_TEST_SEED. */
const seed = Number(process.env.FLOW_TEST_SEED ?? 20_261_130);
const samples = Number(process.env.FLOW_TEST_SAMPLES ?? 12);

/** Walks scenarios on a database of their own. */
export function walk(names: readonly string[]): void {
  let bench: Bench;
  let connection: SharedConnection;
  beforeAll(async () => {
    bench = await Bench.open();
    connection = await shareConnection(bench.connection);
  });
  afterAll(async () => {
    await connection.close();
    await bench.close();
  });

  describe.each(names)('%s', (name) => {
    const scenario = () => scenariosOn(new Scenes(bench))[name]!;

    test('keeps every invariant, whichever operation goes wrong', async () => {
      const report = await enumerateFaults(scenario(), { connection });
      console.log(describeReport(report));
      expect(report.failures.map(describeFailure)).toEqual([]);
      expect(report.visited['die-before']).toBeGreaterThanOrEqual(report.operations / 2);
    }, 300_000);

    test(`keeps them when a survivor is hurt, too (seed ${seed})`, async () => {
      const report = await sampleTwoFaults(scenario(), { connection, seed, samples });
      expect(report.failures.map(describeFailure)).toEqual([]);
    }, 300_000);
  });
}
