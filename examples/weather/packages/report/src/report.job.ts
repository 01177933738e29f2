import { DependsOn, Job, type JobContext, type ResultOf } from '@flowline/core';
import { Extract, Validate, type Week } from '@weather/ingest';
import { type DaySummary, writeReport } from './report-files.js';

/** Degrees Fahrenheit and inches, as Seattle reads them. */
export interface LocalUnits {
  readonly date: string;
  readonly maxF: number;
  readonly minF: number;
  readonly rainInches: number;
}

/** Fails the first time on purpose, to show a retry: look at its two attempts with `flow show`. */
@Job({ retry: { attempts: 3, backoff: { type: 'fixed', delay: '100ms' } } })
@DependsOn(Extract)
export class Convert {
  async run(ctx: JobContext, week: Week): Promise<LocalUnits[]> {
    if (ctx.attempt === 1)
      throw new Error('the unit service did not answer (on purpose, the first time)');
    return week.observations.map((row) => ({
      date: row.date,
      maxF: round((row.temperatureMax * 9) / 5 + 32),
      minF: round((row.temperatureMin * 9) / 5 + 32),
      rainInches: round(row.precipitation / 25.4),
    }));
  }
}

@Job()
@DependsOn(Extract, Validate, Convert)
export class Aggregate {
  async run(
    ctx: JobContext,
    week: Week,
    validation: ResultOf<typeof Validate>,
    local: LocalUnits[],
  ): Promise<DaySummary> {
    const today = week.observations.at(-1);
    const todayLocal = local.at(-1);
    if (today === undefined || todayLocal === undefined) throw new Error(`no row for ${week.day}`);
    ctx.progress(1, `${validation.checked} rows`);
    const mean = (pick: (row: Week['observations'][number]) => number) =>
      round(week.observations.reduce((sum, row) => sum + pick(row), 0) / week.observations.length);
    return {
      ...today,
      maxF: todayLocal.maxF,
      minF: todayLocal.minF,
      rainInches: todayLocal.rainInches,
      weekMeanMax: mean((row) => row.temperatureMax),
      weekMeanMin: mean((row) => row.temperatureMin),
      weekRain: round(week.observations.reduce((sum, row) => sum + row.precipitation, 0)),
    };
  }
}

@Job()
@DependsOn(Aggregate)
export class Report {
  async run(
    ctx: JobContext,
    summary: DaySummary,
  ): Promise<{ readonly csv: string; readonly chart: string }> {
    const files = await writeReport(summary);
    ctx.log.info(`wrote ${files.csv} and ${files.chart}`);
    return files;
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
