import { span } from '../output/words.js';
import type { Check } from './check.js';

const harmlessMs = 1_000;

export const clock: Check = {
  name: 'clock',
  async look(store) {
    const { offsetMs, roundTripMs } = await store.measureClockOffset(5);
    const away = `${span(Math.abs(offsetMs))} ${offsetMs < 0 ? 'behind' : 'ahead of'} the database's`;
    if (Math.abs(offsetMs) - roundTripMs / 2 <= harmlessMs) {
      return { state: 'ok', message: `this machine's clock is ${away}` };
    }
    return {
      state: 'warning',
      message: `this machine's clock is ${away}`,
      hint: 'Nothing is decided by it, but times that people compare will differ: synchronise it.',
    };
  },
};
