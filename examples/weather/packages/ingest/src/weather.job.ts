import { Dag, DependsOn, Job, type JobContext, NonRetryableError } from '@flowline/core';
import { type Observation, seattleTable } from './table.js';

/** Which day, for a run by hand; a scheduled or backfilled run takes its logical date. */
export interface WeatherParams {
  /** `2012-07-04` */
  readonly day?: string;
}

/**
 * One run per day of the table. The schedule ends with the data, so nothing fires today: `flow run weather --backfill`
 * fills in the past.
 */
@Dag({
  schedule: { cron: '0 0 * * *', startAt: '2012-01-01', endAt: '2016-01-01' },
  maxActiveRuns: 4,
})
export class Weather {
  declare params: WeatherParams;
}

/** The day and up to six days before it, oldest first. */
export interface Week {
  readonly day: string;
  readonly observations: Observation[];
}

@Job({ dag: Weather })
export class Extract {
  async run(ctx: JobContext<WeatherParams>): Promise<Week> {
    const day = ctx.params?.day ?? ctx.logicalDate?.toISOString().slice(0, 10);
    if (day === undefined) {
      throw new NonRetryableError(
        'which day? run it with --param day=2012-07-04, or as a backfill',
      );
    }
    const table = await seattleTable();
    if (!table.has(day)) {
      throw new NonRetryableError(
        `the table has no day ${day}: it goes from 2012-01-01 to 2015-12-31`,
      );
    }
    const observations = [...table.values()].filter(
      (row) => row.date > weekBefore(day) && row.date <= day,
    );
    ctx.log.info(`read ${observations.length} rows up to ${day}`);
    return { day, observations };
  }
}

@Job()
@DependsOn(Extract)
export class Validate {
  async run(ctx: JobContext, week: Week): Promise<{ readonly checked: number }> {
    for (const row of week.observations) {
      const { temperatureMin: min, temperatureMax: max, precipitation, wind } = row;
      const isPlausible = min <= max && min > -40 && max < 50 && precipitation >= 0 && wind >= 0;
      if (!isPlausible)
        throw new NonRetryableError(`${row.date} cannot be right: ${JSON.stringify(row)}`);
    }
    ctx.log.info(`${week.observations.length} rows are plausible`);
    return { checked: week.observations.length };
  }
}

function weekBefore(day: string): string {
  return new Date(Date.parse(day) - 7 * 86_400_000).toISOString().slice(0, 10);
}
