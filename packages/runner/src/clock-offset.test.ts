import { expect, it } from 'vitest';
import { ClockOffsetRemark } from './clock-offset.js';

it('is said once when the clock is more than a second off, and once when it is right again', () => {
  const lines: string[] = [];
  const remark = new ClockOffsetRemark((level, message) => lines.push(`${level} ${message}`));
  for (const offsetMs of [0, 900, -1_000, 600_000, 600_500, 20, -1_200]) remark.notice(offsetMs);
  expect(lines).toEqual([
    expect.stringMatching(/^warn .* 600\.0 s ahead of the database's/),
    expect.stringMatching(/^info .* agrees/),
    expect.stringMatching(/^warn .* 1\.2 s behind the database's/),
  ]);
});
