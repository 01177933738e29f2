import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Observation } from '@weather/ingest';
import { monthChart } from './month-chart.js';

/** One line of the report. */
export interface DaySummary extends Observation {
  readonly maxF: number;
  readonly minF: number;
  readonly rainInches: number;
  readonly weekMeanMax: number;
  readonly weekMeanMin: number;
  readonly weekRain: number;
}

const columns = [
  'date',
  'weather',
  'temperatureMax',
  'temperatureMin',
  'precipitation',
  'wind',
  'maxF',
  'minF',
  'rainInches',
  'weekMeanMax',
  'weekMeanMin',
  'weekRain',
] as const satisfies readonly (keyof DaySummary)[];

/** `examples/weather/out`, or `WEATHER_OUT`. */
function outFolder(): string {
  return process.env.WEATHER_OUT ?? fileURLToPath(new URL('../../../out', import.meta.url));
}

/**
 * Writes the day's CSV and draws the chart of its month from all days that are there. Writing the same day twice gives
 * the same files, so an attempt that is repeated does no harm. Days of one month may be written by several runners at
 * once: whoever sees a new day after drawing draws again, so the last chart has all days.
 */
export async function writeReport(summary: DaySummary): Promise<{ csv: string; chart: string }> {
  const month = summary.date.slice(0, 7);
  const folder = join(outFolder(), month);
  await mkdir(folder, { recursive: true });
  const csv = join(folder, `${summary.date}.csv`);
  const row = columns.map((column) => summary[column]).join(',');
  await replaceFile(csv, `${columns.join(',')}\n${row}\n`);
  const chart = join(outFolder(), `${month}.svg`);
  for (let drawn = ''; ; ) {
    const days = (await readdir(folder)).filter((name) => name.endsWith('.csv')).sort();
    if (days.join() === drawn) return { csv, chart };
    const summaries = await Promise.all(days.map((name) => readSummary(join(folder, name))));
    await replaceFile(chart, monthChart(month, summaries));
    drawn = days.join();
  }
}

async function readSummary(path: string): Promise<DaySummary> {
  const [, row = ''] = (await readFile(path, 'utf8')).split('\n');
  const cells = row.split(',');
  const entries = columns.map((column, index) => {
    const cell = cells[index] ?? '';
    return [column, column === 'date' || column === 'weather' ? cell : Number(cell)];
  });
  return Object.fromEntries(entries) as DaySummary;
}

/** A reader sees the old file or the new one, never half of it. */
async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomUUID()}.draft`;
  await writeFile(draft, text);
  await rename(draft, path);
}
