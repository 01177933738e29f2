import { counted, span } from '../output/words.js';
import { type Check, silentMs } from './check.js';

export const runners: Check = {
  name: 'runners',
  async look(store) {
    const [all, leadership, now, dags] = await Promise.all([
      store.listRunners(),
      store.getLeadership(),
      store.readServerTime(),
      store.listDags({ state: 'active' }),
    ]);
    const silence = (at: Date) => now.getTime() - at.getTime();
    const silent = all.filter(
      ({ state, heartbeatAt }) => state !== 'stopped' && silence(heartbeatAt) > silentMs,
    );
    const alive = all.filter(({ heartbeatAt }) => silence(heartbeatAt) <= silentMs);
    const leader = leadership !== null && leadership.expiresAt > now ? leadership.holder : null;
    const isNeeded = dags.some(({ nextFireAt }) => nextFireAt !== null);
    const said = `${counted(alive.length, 'runner')} alive, ${leader === null ? 'nobody leads' : `${leader} leads`}`;
    if (silent.length > 0) {
      return {
        state: 'warning',
        message: `${said}; ${silent.length} went silent`,
        details: silent.map(
          ({ id, host, pid, heartbeatAt }) =>
            `${id} (${host}, pid ${pid}): last heard ${span(silence(heartbeatAt))} ago`,
        ),
        hint: 'They died or cannot reach the database. Their tasks go to others; their records go after a day.',
      };
    }
    if (leader === null && isNeeded) {
      return {
        state: 'warning',
        message: said,
        hint: 'No schedule fires until a runner leads: start one with "flow runner".',
      };
    }
    return { state: 'ok', message: said };
  },
};
