import type { Check } from './check.js';

const kinds = {
  standalone: 'a standalone server',
  'replica-set': 'a replica set',
  sharded: 'a sharded cluster',
} as const;

export const database: Check = {
  name: 'database',
  async look(store) {
    const { kind, version, isSupported, hasTransactions } = await store.examineDeployment();
    if (!isSupported) {
      return {
        state: 'fault',
        message: `MongoDB ${version} is too old`,
        hint: 'Flowline needs MongoDB 4.4 or newer.',
      };
    }
    const transactions = hasTransactions
      ? 'with transactions'
      : 'without transactions (ctx.commit is not available)';
    return { state: 'ok', message: `MongoDB ${version}, ${kinds[kind]}, ${transactions}` };
  },
};
