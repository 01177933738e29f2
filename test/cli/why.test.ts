/** flow why, on a database without a runner; each reason by itself is tested beside its code. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestDatabase } from '../support/database.ts';
import { type FlowSandbox, openFlow } from '../support/flow.ts';
import { flowHere } from '../support/flow-in-process.ts';

const project = fileURLToPath(new URL('../fixtures/process', import.meta.url));

let flow: FlowSandbox;
beforeAll(async () => {
  flow = await openFlow(project, { uri: (await openTestDatabase()).uri });
  await flow.here(['deploy', 'held.job.ts']);
});
afterAll(() => flow.close());

const why = (...args: string[]) => flowHere(['why', ...args], { cwd: project, env: flow.env });

test('a run that nobody works on: what it and its tasks wait for', async () => {
  const { id } = await flow.here(['run', 'held']);
  const text = await why(id);
  expect(text.code).toBe(0);
  expect(text.stdout.split('\n')).toEqual([
    `held ${id} running: it is running: 2 tasks of 2 to go`,
    '  held ready: it is ready, and no runner is alive: start one with "flow runner"',
    '  after blocked: it waits for held (ready)',
    '',
  ]);
  expect(await flow.here(['why', id, 'after'])).toEqual({
    run: id,
    dag: 'held',
    state: 'running',
    why: 'it is running: 2 tasks of 2 to go',
    tasks: [{ job: 'after', state: 'blocked', why: 'it waits for held (ready)' }],
  });
  const wrong = await why(id, 'afer');
  expect(wrong).toMatchObject({ code: 1, stdout: '' });
  expect(wrong.stderr).toMatch(/has no job "afer"\nhint: Did you mean "after"/);
  await flow.here(['cancel', id]);
  expect((await why(id)).stdout).toMatch(/^held \w+ cancelled: it is over: cancelled at .*\n$/);
});

test('a run that is not there', async () => {
  const missing = await why('nowhere');
  expect(missing).toMatchObject({ code: 1, stdout: '' });
  expect(missing.stderr).toMatch(/no run "nowhere"\nhint/);
});
