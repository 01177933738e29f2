/** A year of minutes in a zone with daylight saving: how long it takes, and how long the event loop waits at most. No database. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { streamFires } from '@flowline/core';

export const name = 'a year of minutes';

export async function measure() {
  const rows = [];
  for (const schedule of [
    { cron: '* * * * *', timeZone: 'America/New_York' },
    { cron: '* * * * * *', timeZone: 'America/New_York' },
  ]) {
    const isSeconds = schedule.cron.split(' ').length === 6;
    const to = isSeconds ? '2026-01-08T00:00:00Z' : '2027-01-01T00:00:00Z';
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const at = performance.now();
    let count = 0;
    for await (const fires of streamFires(
      schedule,
      new Date('2026-01-01T00:00:00Z'),
      new Date(to),
    )) {
      count += fires.length;
    }
    const took = performance.now() - at;
    delay.disable();
    const what = isSeconds ? 'a week of seconds' : 'a year of minutes';
    rows.push(
      { figure: `${what}, ${count} fires`, value: took, unit: 'ms' },
      { figure: `${what}, longest wait of the event loop`, value: delay.max / 1e6, unit: 'ms' },
    );
  }
  return rows;
}
