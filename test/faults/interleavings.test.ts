import { describeEncounter, describeSeedFailure, interleave } from '@flowline/core/testing';
import { expect, test } from 'vitest';
import { encountersOn } from './encounters.js';
import { useStage } from './stage.js';

/** Of each encounter. For a longer run, or for a seed that failed: FLOW_TEST_SEEDS, FLOW_TEST_SEED. */
const seeds = Number(process.env.FLOW_TEST_SEEDS ?? 200);
const firstSeed = Number(process.env.FLOW_TEST_SEED ?? 1);

const stage = useStage();

test.each([
  'two leaders',
  'two rescuers',
  'finisher against rescuer',
  'renewal against rescuer',
  'two claimers',
  'finisher against canceller',
  'both parents of a join',
  'deploy against trigger',
  'pause against fire',
  'leader against prune',
  'retry against closers',
])(
  '%s: every invariant holds in every order',
  async (name) => {
    const { scenes, connection } = stage();
    const encounter = encountersOn(scenes)[name]!;
    const report = await interleave(encounter, { connection, seeds, firstSeed });
    console.log(describeEncounter(report));
    expect(report.failures.map(describeSeedFailure)).toEqual([]);
    expect(report.seeds).toBe(seeds);
  },
  300_000,
);
