import {
  describeFailure,
  describeReport,
  enumerateFaults,
  sampleTwoFaults,
} from '@flowline/core/testing';
import { describe, expect, test } from 'vitest';
import { scenariosOn } from './scenarios.js';
import { useStage } from './stage.js';

/** Of samples with two faults. Another one: FLOW_TEST_SEED. */
const seed = Number(process.env.FLOW_TEST_SEED ?? 20_261_130);
const samples = Number(process.env.FLOW_TEST_SAMPLES ?? 12);

/** Walks scenarios on a database of their own. */
export function walk(names: readonly string[]): void {
  const stage = useStage();

  describe.each(names)('%s', (name) => {
    const scenario = () => scenariosOn(stage().scenes)[name]!;

    test('keeps every invariant, whichever operation goes wrong', async () => {
      const report = await enumerateFaults(scenario(), stage());
      console.log(describeReport(report));
      expect(report.failures.map(describeFailure)).toEqual([]);
      expect(report.visited['die-before']).toBeGreaterThanOrEqual(report.operations / 2);
    }, 300_000);

    test(`keeps them when a survivor is hurt, too (seed ${seed})`, async () => {
      const report = await sampleTwoFaults(scenario(), { ...stage(), seed, samples });
      expect(report.failures.map(describeFailure)).toEqual([]);
    }, 300_000);
  });
}
