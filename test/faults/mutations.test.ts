/**
 * The guards of the store, taken away one at a time by rewriting the operation that carries them. Each must be missed: if nothing
 * finds anything without a guard, the tests that find nothing with it say nothing.
 */
import {
  describeFailure,
  describeSeedFailure,
  enumerateFaults,
  type FaultKind,
  interleave,
  type OperationRewriter,
  type SharedConnection,
  shareConnection,
} from '@flowline/core/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Bench } from '../store/scheduling.js';
import { encountersOn } from './encounters.js';
import { scenariosOn } from './scenarios.js';
import { Scenes } from './scenes.js';

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

type Fields = Readonly<Record<string, unknown>>;

interface Guarded {
  readonly collection: string;
  readonly method: string;
  /** True for the operation whose guard goes. */
  readonly is: (filter: Fields, update: string) => boolean;
}

/** Leaves these fields out of the filter. */
function without(guarded: Guarded, ...fields: readonly string[]): OperationRewriter {
  return ({ collection, method, args }) => {
    if (collection !== guarded.collection || method !== guarded.method) return undefined;
    const [filter, update, ...rest] = args as [Fields, unknown, ...unknown[]];
    if (!guarded.is(filter, JSON.stringify(update))) return undefined;
    const kept = Object.entries(filter).filter(([name]) => !fields.includes(name));
    return [Object.fromEntries(kept), update, ...rest];
  };
}

/** What ends an attempt: a finish, or a rescue. */
const finish: Guarded = {
  collection: 'tasks',
  method: 'findOneAndUpdate',
  is: (filter, update) => 'lease.token' in filter && !update.includes('task-lost'),
};
const rescue: Guarded = { ...finish, is: (_, update) => update.includes('task-lost') };
const claims: Guarded = {
  collection: 'tasks',
  method: 'updateMany',
  is: (filter, update) => filter.state === 'ready' && update.includes('expiresAt'),
};
const decision: Guarded = {
  collection: 'dags',
  method: 'updateOne',
  is: (_, update) => update.includes('"$set":{"pending":{'),
};
const cursor: Guarded = {
  collection: 'dags',
  method: 'updateOne',
  is: (filter) => 'pending.decidedAt' in filter,
};
/** `propagated: false` is written as true. */
const forgetsMarks: OperationRewriter = ({ collection, method, args }) => {
  if (collection !== 'tasks' || method !== 'findOneAndUpdate') return undefined;
  const [filter, update, ...rest] = args as [Fields, Fields[], ...unknown[]];
  const stages = update.map((stage) => {
    const set = (stage as { $set?: Fields }).$set;
    return set !== undefined && 'propagated' in set
      ? { $set: { ...set, propagated: true } }
      : stage;
  });
  return [filter, stages, ...rest];
};

/** Seeds to look through; the first that finds something ends it. */
const seeds = 400;

async function findsInOrder(encounter: string, rewrite: OperationRewriter): Promise<string[]> {
  const one = encountersOn(new Scenes(bench))[encounter]!;
  const report = await interleave(one, { connection, seeds, rewrite });
  return report.failures.map(describeSeedFailure);
}

async function findsByFaults(
  scenario: string,
  kinds: readonly FaultKind[],
  rewrite: OperationRewriter,
): Promise<string[]> {
  const one = scenariosOn(new Scenes(bench))[scenario]!;
  const options = { connection, kinds, rewrite, mostFailures: 1 };
  return (await enumerateFaults(one, options)).failures.map(describeFailure);
}

describe('without', () => {
  test.each([
    [
      'the token in the finish',
      'finisher against rescuer',
      without(finish, 'token', 'lease.token'),
    ],
    [
      'the holder and the token in the finish',
      'finisher against rescuer',
      without(finish, 'token', 'lease.token', 'lease.runner'),
    ],
    ['the state in the claim', 'two claimers', without(claims, 'state')],
    ['the expiry in the rescue', 'renewal against rescuer', without(rescue, '$expr')],
    [
      'the state and the token in the rescue',
      'two rescuers',
      without(rescue, 'state', 'token', 'lease.token', 'lease.runner'),
    ],
    [
      'the compare-and-set of the decision',
      'leader against prune',
      without(decision, 'state', 'version', 'nextFireAt', 'scheduleRev', 'pending', '$expr'),
    ],
    [
      'the compare-and-set of the cursor',
      'leader against prune',
      without(cursor, 'nextFireAt', 'scheduleRev', 'pending.decidedAt'),
    ],
  ] as const)(
    '%s, an order is found that breaks something',
    async (_guard, encounter, rewrite) => {
      const found = await findsInOrder(encounter, rewrite);
      console.log(found[0]?.split('\n')[0]);
      expect(found).not.toEqual([]);
    },
    300_000,
  );

  test('the mark of owed propagation, a death is found that leaves dependents waiting', async () => {
    const found = await findsByFaults('fan-in', ['die-before'], forgetsMarks);
    console.log(found[0]);
    expect(found.join()).toContain('nothing-left-undone');
  }, 300_000);

  test('the unique slot, a lost answer is found that makes two runs', async () => {
    const own = await Bench.open();
    const shared = await shareConnection(own.connection);
    try {
      await own.collections.runs.dropIndex('slot');
      const one = scenariosOn(new Scenes(own)).misfire!;
      const kinds = ['die-before', 'die-after'] as const;
      const { failures } = await enumerateFaults(one, {
        connection: shared,
        kinds,
        mostFailures: 1,
      });
      console.log(failures.map(describeFailure)[0]);
      expect(failures).not.toEqual([]);
    } finally {
      await shared.close();
      await own.close();
    }
  }, 300_000);
});
