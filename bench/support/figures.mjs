/** Pure: medians and percentiles, and the table that a person reads. */

export function percentile(values, fraction) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(fraction * sorted.length) - 1)];
}

export const median = (values) => percentile(values, 0.5);

/** A row: `{ figure, unit, value }`; numbers get three digits that mean something. */
export function round(value) {
  if (!Number.isFinite(value)) return value;
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}

export function textTable(rows) {
  const cells = [
    ['case', 'figure', 'value', 'unit'],
    ...rows.map((r) => [r.case, r.figure, String(r.value), r.unit]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((row) => row[column].length)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
