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
} from '@flowline/core/testing';
import { describe, expect, test } from 'vitest';
import { encountersOn } from './encounters.js';
import { scenariosOn } from './scenarios.js';
import { openStage, useStage } from './stage.js';

const stage = useStage();

type Fields = Readonly<Record<string, unknown>>;

interface Guarded {
  readonly collection: string;
  /** True for the write whose guard goes, by itself or as a part of a bulk. */
  readonly is: (filter: Fields, update: string) => boolean;
}

/** A rewriter, and how often it found what it rewrites: a guard that is not found any more is no proof. */
interface Mutation {
  readonly rewrite: OperationRewriter;
  found: number;
}

/** Leaves these fields out of the filter. */
function without(guarded: Guarded, ...fields: readonly string[]): Mutation {
  const strip = (filter: Fields, update: unknown): Fields | undefined => {
    if (!guarded.is(filter, JSON.stringify(update))) return undefined;
    mutation.found += 1;
    return Object.fromEntries(Object.entries(filter).filter(([name]) => !fields.includes(name)));
  };
  const mutation: Mutation = {
    found: 0,
    rewrite({ collection, method, args, isWrite }) {
      if (collection !== guarded.collection || !isWrite) return undefined;
      const [first, ...rest] = args;
      if (method === 'bulkWrite') return [(first as BulkPart[]).map(inBulk), ...rest];
      const filter = rest.length === 0 ? undefined : strip(first as Fields, rest[0]);
      return filter === undefined ? undefined : [filter, ...rest];
    },
  };
  const inBulk = (part: BulkPart): BulkPart => {
    const { updateOne } = part;
    const filter = updateOne === undefined ? undefined : strip(updateOne.filter, updateOne.update);
    return filter === undefined ? part : { updateOne: { ...updateOne!, filter } };
  };
  return mutation;
}

interface BulkPart {
  readonly updateOne?: { readonly filter: Fields; readonly update: unknown };
}

const finish: Guarded = {
  collection: 'tasks',
  is: (filter, update) =>
    'lease.token' in filter && update.includes('attempts') && !update.includes('task-lost'),
};
const rescue: Guarded = { collection: 'tasks', is: (_, update) => update.includes('task-lost') };
const claims: Guarded = {
  collection: 'tasks',
  is: (filter, update) => filter.state === 'ready' && update.includes('expiresAt'),
};
const decision: Guarded = {
  collection: 'dags',
  is: (_, update) => update.includes('"$set":{"pending":{'),
};
const cursor: Guarded = { collection: 'dags', is: (filter) => 'pending.decidedAt' in filter };
const close: Guarded = {
  collection: 'runs',
  is: (filter, update) => 'openEpoch' in filter && update.includes('"cancelling":false,"expireAt"'),
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
const seeds = 2_000;

async function findsInOrder(encounter: string, mutation: Mutation): Promise<string[]> {
  const { scenes, connection } = stage();
  const one = encountersOn(scenes)[encounter]!;
  const { rewrite } = mutation;
  const report = await interleave(one, { connection, seeds, rewrite });
  expect(mutation.found).toBeGreaterThan(0);
  return report.failures.map(describeSeedFailure);
}

async function findsByFaults(
  scenario: string,
  kinds: readonly FaultKind[],
  rewrite: OperationRewriter,
): Promise<string[]> {
  const { scenes, connection } = stage();
  const one = scenariosOn(scenes)[scenario]!;
  // So many that the audit has its say, too.
  const options = { connection, kinds, rewrite, mostFailures: 99 };
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
    ['the opening in the close', 'retry against closers', without(close, 'openEpoch')],
  ] as const)(
    '%s, an order is found that breaks something',
    async (_guard, encounter, mutation) => {
      const found = await findsInOrder(encounter, mutation);
      console.log(found[0]?.split('\n')[0]);
      expect(found).not.toEqual([]);
    },
    900_000,
  );

  test('the mark of owed propagation, a death is found that leaves dependents waiting', async () => {
    const found = await findsByFaults('fan-in', ['die-before'], forgetsMarks);
    console.log(found[0]);
    expect(found.join()).toContain('nothing-left-undone');
  }, 300_000);

  test('the unique slot, a lost answer is found that makes two runs', async () => {
    const own = await openStage();
    try {
      await own.bench.collections.runs.dropIndex('slot');
      const one = scenariosOn(own.scenes).misfire!;
      const kinds = ['die-before', 'die-after'] as const;
      const { failures } = await enumerateFaults(one, {
        connection: own.connection,
        kinds,
        mostFailures: 1,
      });
      console.log(failures.map(describeFailure)[0]);
      expect(failures).not.toEqual([]);
    } finally {
      await own.close();
    }
  }, 300_000);
});
