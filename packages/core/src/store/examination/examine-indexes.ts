import { isDeepStrictEqual } from 'node:util';
import type { IndexDescription } from 'mongodb';
import type { Collections } from '../collections.js';
import { hello, type StoreContext } from '../context.js';
import { indexes } from '../indexes.js';
import { shardedCollections } from '../operations/prepare.js';
import type { IndexFinding } from '../verbs/examination-verbs.js';

/** See ExaminationVerbs. */
export async function examineIndexes(
  context: StoreContext,
): Promise<{ findings: IndexFinding[]; sharded: string[] }> {
  const names = Object.keys(indexes) as (keyof Collections)[];
  const findings = await Promise.all(names.map((name) => findingsOf(context, name)));
  const isSharded = (await hello(context.db)).msg === 'isdbgrid';
  return {
    findings: findings.flat(),
    sharded: isSharded ? await shardedCollections(context) : [],
  };
}

async function findingsOf(context: StoreContext, name: keyof Collections): Promise<IndexFinding[]> {
  const found = await listIndexes(context, name);
  return indexes[name].flatMap((wanted): IndexFinding[] => {
    const index = String(wanted.name);
    const there = found.find((one) => one.name === index);
    if (there === undefined) return [{ collection: name, index, problem: 'missing' }];
    const isSame = isDeepStrictEqual(essence(there), essence(wanted));
    return isSame ? [] : [{ collection: name, index, problem: 'different' }];
  });
}

async function listIndexes(
  context: StoreContext,
  name: keyof Collections,
): Promise<IndexDescription[]> {
  try {
    return (await context.db.collection(name).listIndexes().toArray()) as IndexDescription[];
  } catch (error) {
    // 26 NamespaceNotFound: nothing was stored yet.
    if ((error as { code?: unknown }).code === 26) return [];
    throw error;
  }
}

/** What of an index decides: its keys in order, and the options that change what it holds or refuses. */
function essence(index: IndexDescription) {
  const key = index.key instanceof Map ? Object.fromEntries(index.key) : { ...index.key };
  return {
    key: Object.entries(key).map(([field, direction]) => [field, Number(direction)]),
    unique: index.unique === true,
    expireAfterSeconds: index.expireAfterSeconds ?? null,
    partial: index.partialFilterExpression ?? null,
  };
}
