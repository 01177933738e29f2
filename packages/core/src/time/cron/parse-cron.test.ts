import { describe, expect, it } from 'vitest';
import { parseCron } from './parse-cron.js';

const firstProblem = (cron: unknown) => {
  const [problem] = parseCron(cron).problems;
  return (
    problem && `${problem.severity} ${problem.code}: ${problem.message} | ${problem.hint ?? ''}`
  );
};

describe('parseCron', () => {
  it('reads values, steps, ranges, names and letters', () => {
    const { fields, problems } = parseCron('*/20 0-6/3 L,15 jan,MAR 1,3,5,7');
    expect(problems.map((problem) => problem.code)).toEqual(['cron-day-or']);
    expect(fields).toEqual({
      seconds: [0],
      minutes: [0, 20, 40],
      hours: [0, 3, 6],
      daysOfMonth: [15],
      lastDayOfMonth: true,
      anyDayOfMonth: false,
      months: [1, 3],
      daysOfWeek: [0, 1, 3, 5],
      lastDaysOfWeek: [],
      nthDayOfWeek: 0,
      anyDayOfWeek: false,
    });
    expect(parseCron('0 0 * * 5L').fields?.lastDaysOfWeek).toEqual([5]);
    expect(parseCron('0 0 * * friL,7l').fields?.lastDaysOfWeek).toEqual([5, 0]);
    expect(parseCron('0 0 * * MON#2').fields).toMatchObject({ daysOfWeek: [1], nthDayOfWeek: 2 });
    expect(parseCron('0 0 ? * 6-7').fields).toMatchObject({
      daysOfWeek: [0, 6],
      anyDayOfMonth: true,
    });
    expect(parseCron('5/20 * * * *').fields?.minutes).toEqual([5, 25, 45]);
    expect(parseCron('0 0 * * 0,7').fields?.daysOfWeek).toEqual([0]);
    expect(parseCron('0 0 1,1 * *').fields?.daysOfMonth).toEqual([1]);
  });

  it('writes equal expressions in one way', () => {
    expect(parseCron('  0   2 * * mon ').cron).toBe('0 2 * * MON');
    expect(parseCron('@daily')).toMatchObject({
      cron: '@daily',
      fields: { hours: [0], minutes: [0] },
    });
  });

  it.each([
    ['* * * *', 'cron-field-count', 'found 4'],
    ['0 0 0 1 1 * 2026', 'cron-field-count', 'year'],
    ['', 'cron-empty', '0 2 * * *'],
    ['   ', 'cron-empty', 'found nothing'],
    [undefined, 'cron-empty', 'found nothing'],
    [5, 'cron-empty', 'found nothing'],
    ['@dayly', 'cron-name', "'@daily'"],
    ['@reboot', 'cron-name', 'Known'],
    ['H H * * *', 'cron-hash', 'jitter'],
    ['H(0-5)/2 * * * *', 'cron-hash', 'jitter'],
    ['h * * * *', 'cron-hash', 'minute'],
    ['60 * * * *', 'cron-field', 'minute: 60 is outside 0-59'],
    ['0 24 * * *', 'cron-field', 'hour 0'],
    ['0 0 0 * *', 'cron-field', 'day-of-month: 0 is outside 1-31'],
    ['0 0 * 13 *', 'cron-field', 'month: 13'],
    ['0 0 * * 8', 'cron-field', 'day-of-week: 8'],
    ['0 0 * * MONDAY', 'cron-field', 'Write MON'],
    ['0 0 * * L', 'cron-field', '5L'],
    ['0 0 * * 5#6', 'cron-field', '5#1'],
    ['0 0 * * 5#2,1', 'cron-field', 'stands alone'],
    ['0 0 15W * *', 'cron-field', 'not supported'],
    ['0 0 L-3 * *', 'cron-field', 'not supported'],
    ['? * * * *', 'cron-field', '?'],
    ['1,,2 * * * *', 'cron-field', 'extra comma'],
    ['*/0 * * * *', 'cron-field', 'step'],
    ['*/x * * * *', 'cron-field', 'step'],
    ['1-2-3 * * * *', 'cron-field', 'range'],
    ['1/2/3 * * * *', 'cron-field', 'more than one'],
    ['*/90 * * * *', 'cron-step', 'every'],
    ['a * * * *', 'cron-field', 'is not a value'],
    ['-5 * * * *', 'cron-field', 'is not a value'],
    ['0 0 * * SAT-SUN', 'cron-wrap', 'Write `SAT,SUN`'],
    ['0 22-2 * * *', 'cron-wrap', 'Write `22-23,0-2`'],
    ['0 0 1 11-2 *', 'cron-wrap', 'Write `11,12,1,2`'],
    ['0 0 * * FRI-MON', 'cron-wrap', 'Write `FRI,SAT,SUN,MON`'],
    ['0 22-4/2 * * *', 'cron-wrap', 'Write `22,0,2,4`'],
    ['0 0 30 2 *', 'cron-impossible', 'no day 30 in FEB'],
    ['0 0 31 4,6 *', 'cron-impossible', 'APR, JUN'],
    ['0 0 31 2,4,6,9,11 *', 'cron-impossible', 'FEB, APR, JUN, SEP, NOV'],
  ])('refuses %j', (cron, code, words) => {
    const problem = firstProblem(cron);
    expect(problem).toMatch(new RegExp(`^error ${code}: `));
    expect(problem).toContain(words);
    expect(parseCron(cron).fields).toBeUndefined();
  });

  it('reports each bad field', () => {
    const { problems } = parseCron('60 24 32 13 8');
    expect(problems.map((problem) => problem.message.split(':')[0])).toEqual([
      'minute',
      'hour',
      'day-of-month',
      'month',
      'day-of-week',
    ]);
  });

  it('warns of what is legal and seldom meant', () => {
    expect(firstProblem('0 0 13 * 5')).toContain('warning cron-day-or');
    expect(firstProblem('* 0 0 1,2 * *')).toContain('fires 60 times');
    expect(parseCron('* * * * * *').problems).toEqual([]);
    expect(parseCron('0 0 29 2 *').problems).toEqual([]);
    expect(parseCron('0 0 31 4,5 *').problems).toEqual([]);
  });
});
