import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** One day as the table has it: rain in millimetres, temperatures in degrees Celsius, wind in metres per second. */
export interface Observation {
  readonly date: string;
  readonly precipitation: number;
  readonly temperatureMax: number;
  readonly temperatureMin: number;
  readonly wind: number;
  readonly weather: string;
}

let table: Promise<Map<string, Observation>> | undefined;

/** The daily table of Seattle, 2012 to 2015, by date (`2012-01-31`). Read once per process. */
export function seattleTable(): Promise<Map<string, Observation>> {
  table ??= readTable();
  return table;
}

async function readTable(): Promise<Map<string, Observation>> {
  const main = createRequire(import.meta.url).resolve('vega-datasets');
  const text = await readFile(join(dirname(main), '..', 'data', 'seattle-weather.csv'), 'utf8');
  const [, ...lines] = text.trim().split('\n');
  const days = lines.map((line): Observation => {
    const [date = '', rain, max, min, wind, weather = ''] = line.trim().split(',');
    return {
      date,
      precipitation: Number(rain),
      temperatureMax: Number(max),
      temperatureMin: Number(min),
      wind: Number(wind),
      weather,
    };
  });
  return new Map(days.map((day) => [day.date, day]));
}
