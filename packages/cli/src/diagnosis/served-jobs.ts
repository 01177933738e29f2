import { counted } from '../output/words.js';
import type { Check } from './check.js';

export const servedJobs: Check = {
  name: 'served jobs',
  async look(store) {
    const unserved = await store.findUnserved(100);
    if (unserved.length === 0)
      return { state: 'ok', message: 'every ready task has a runner that knows its job' };
    return {
      state: 'fault',
      message: `${counted(unserved.length, 'job')} with ready tasks and no runner that knows them`,
      details: unserved.map(({ serveKey, count }) => {
        const [dag, job] = serveKey.split('/');
        return `${dag} ${job}: ${counted(count, 'task')} waiting`;
      }),
      hint: 'Start a runner that has their code, with the dependencies that were deployed.',
    };
  },
};
