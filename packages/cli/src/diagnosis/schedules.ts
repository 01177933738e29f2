import { counted } from '../output/words.js';
import type { Check } from './check.js';

export const schedules: Check = {
  name: 'schedules',
  async look(store) {
    const dags = await store.listDags({ state: 'active' });
    const broken = dags.filter((dag) => dag.broken !== null);
    if (broken.length === 0) {
      return {
        state: 'ok',
        message: `${counted(dags.length, 'DAG')} deployed, every schedule can be evaluated`,
      };
    }
    return {
      state: 'fault',
      message: `${counted(broken.length, 'schedule')} cannot be evaluated`,
      details: broken.map((dag) => `${dag.id}: ${dag.broken}`),
      hint: 'Deploy them again, corrected where the definition is at fault.',
    };
  },
};
