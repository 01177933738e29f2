import type { DaySummary } from './report-files.js';

const width = 960;
const height = 420;
const margin = { left: 56, right: 64, top: 56, bottom: 48 };
const coldest = -10;
const warmest = 40;
const mostRain = 60;

const skies: Record<string, string> = {
  sun: '#e7ba52',
  fog: '#9aa0a6',
  drizzle: '#7fb7be',
  rain: '#1f77b4',
  snow: '#9467bd',
};

/** An SVG of one month: the range of each day's temperature, coloured by its sky, over its rain. */
export function monthChart(month: string, days: readonly DaySummary[]): string {
  const daysInMonth = new Date(
    Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0),
  ).getUTCDate();
  const plotWidth = width - margin.left - margin.right;
  const plotHeight = height - margin.top - margin.bottom;
  const slot = plotWidth / daysInMonth;
  const x = (day: number) => margin.left + (day - 0.5) * slot;
  const y = (celsius: number) =>
    margin.top + ((warmest - celsius) / (warmest - coldest)) * plotHeight;
  const bottom = margin.top + plotHeight;
  const rainHeight = (millimetres: number) =>
    (Math.min(millimetres, mostRain) / mostRain) * plotHeight;
  const number = (value: number) => value.toFixed(1);

  const grid = [-10, 0, 10, 20, 30, 40].map(
    (celsius) =>
      `<line x1="${margin.left}" x2="${width - margin.right}" y1="${number(y(celsius))}" y2="${number(y(celsius))}" stroke="#e3e3e3"/>` +
      `<text x="${margin.left - 8}" y="${number(y(celsius) + 4)}" text-anchor="end">${celsius} °C</text>`,
  );
  const rainScale = [0, 20, 40, 60].map(
    (rain) =>
      `<text x="${width - margin.right + 8}" y="${number(bottom - rainHeight(rain) + 4)}" fill="#5a8fb8">${rain} mm</text>`,
  );
  const bars = days.map((day) => {
    const at = x(Number(day.date.slice(8)));
    const rain = rainHeight(day.precipitation);
    const top = y(day.temperatureMax);
    const range = Math.max(1, y(day.temperatureMin) - top);
    return (
      `<g><title>${day.date}: ${day.temperatureMin} to ${day.temperatureMax} °C, ${day.precipitation} mm, ${day.weather}</title>` +
      `<rect x="${number(at - slot * 0.42)}" y="${number(bottom - rain)}" width="${number(slot * 0.84)}" height="${number(rain)}" fill="#c9dff0"/>` +
      `<rect x="${number(at - slot * 0.18)}" y="${number(top)}" width="${number(slot * 0.36)}" height="${number(range)}" rx="3" fill="${skies[day.weather] ?? '#555'}"/></g>`
    );
  });
  const dates = Array.from({ length: daysInMonth }, (_, index) => index + 1)
    .filter((day) => day === 1 || day % 5 === 0)
    .map(
      (day) => `<text x="${number(x(day))}" y="${bottom + 18}" text-anchor="middle">${day}</text>`,
    );
  const legend = Object.entries(skies).map(
    ([sky, colour], index) =>
      `<rect x="${margin.left + index * 84}" y="34" width="10" height="10" fill="${colour}"/>` +
      `<text x="${margin.left + 16 + index * 84}" y="43">${sky}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#333">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${margin.left}" y="24" font-size="16">Seattle, ${month}: daily temperature range and rain (${days.length} of ${daysInMonth} days)</text>`,
    ...legend,
    ...grid,
    ...rainScale,
    ...bars,
    ...dates,
    '</svg>',
    '',
  ].join('\n');
}
