/** Operations per second on the database while one runner has nothing to do, as the server counts them. */
import { Job } from '@flowline/core';
import { openSystem } from '../support/system.mjs';

export const name = 'idle load';

export async function measure(target, { small }) {
  const seconds = small ? 5 : 30;
  class Nothing {
    async run() {}
  }
  Job({ id: 'nothing' })(Nothing);
  const system = await openSystem(target, [Nothing]);
  try {
    await system.startRunner();
    const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    await wait(10_000);
    const before = await system.operations();
    await wait(seconds * 1_000);
    const operations = (await system.operations()) - before - 1;
    return [
      {
        figure: `one runner that leads, over ${seconds} s`,
        value: operations / seconds,
        unit: 'operations/s',
      },
    ];
  } finally {
    await system.close();
  }
}
