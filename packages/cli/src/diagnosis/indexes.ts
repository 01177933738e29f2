import { counted } from '../output/words.js';
import type { Check } from './check.js';

export const indexes: Check = {
  name: 'indexes',
  async look(store) {
    const { findings, sharded } = await store.examineIndexes();
    if (sharded.length > 0) {
      return {
        state: 'fault',
        message: `${counted(sharded.length, 'collection')} of Flowline are sharded`,
        details: sharded,
        hint: 'Unique slots and the claim need each collection on one shard: use a database where they are not sharded.',
      };
    }
    if (findings.length === 0) return { state: 'ok', message: 'all indexes are there' };
    if (
      findings.every(({ problem }) => problem === 'missing') &&
      (await store.listDags()).length === 0
    ) {
      return {
        state: 'warning',
        message: 'nothing was deployed to this database yet',
        hint: 'Is it the right one? See --mongodb-uri, --database and --data-dir; else run "flow deploy".',
      };
    }
    const isForeign = findings.some(({ problem }) => problem === 'different');
    return {
      state: 'fault',
      message: `${counted(findings.length, 'index', 'indexes')} not as they must be`,
      details: findings.map(
        ({ collection, index, problem }) => `${collection}.${index}: ${problem}`,
      ),
      hint: isForeign
        ? 'Somebody made other indexes of these names: drop those, then run "flow doctor --fix".'
        : '"flow doctor --fix" and the next runner make them.',
    };
  },
  async mend(store) {
    const before = await store.examineIndexes();
    if (before.findings.every(({ problem }) => problem !== 'missing')) return [];
    await store.prepare();
    const after = await store.examineIndexes();
    return [`made ${counted(before.findings.length - after.findings.length, 'index', 'indexes')}`];
  },
};
