/** The hook of flow.config.ts: a runner that leads and serves nobody tells it what was expected and did not happen. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FlowSandbox, openFlow } from '../support/flow.ts';
import { until } from '../support/until.ts';

let folder: string;
let flow: FlowSandbox;
beforeAll(async () => {
  // Outside the repository: @flowline/* is the copy of the command itself.
  folder = mkdtempSync(join(tmpdir(), 'flow-expecting-'));
  mkdirSync(join(folder, 'jobs'));
  writeFileSync(
    join(folder, 'flow.config.ts'),
    `import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from '@flowline/cli';

export default defineConfig({
  project: 'late',
  async onExpectationMissed({ dagId, kind, runId }) {
    appendFileSync(join(process.env.TEST_SIGNALS!, 'events'), \`\${dagId} \${kind} \${runId}\\n\`);
  },
});
`,
  );
  writeFileSync(
    join(folder, 'jobs/late.job.ts'),
    `import { Job } from '@flowline/core';

@Job({ id: 'late', expectWithin: { start: '1s' } })
export class Late {
  async run() {}
}
`,
  );
  flow = await openFlow(folder);
});
afterAll(async () => {
  await flow.close();
  rmSync(folder, { recursive: true, force: true });
});

test('flow runner --only-lead calls onExpectationMissed once for a run that nobody starts', async () => {
  const leader = flow.spawn(['runner', '--only-lead', '--deploy']);
  await leader.started;
  const { id } = await flow.json(['run', 'late']);
  await until('the hook', () => flow.events().length > 0);
  expect(flow.events()).toEqual([`late start ${id}`]);
  const shown = await flow.json(['show', 'late']);
  expect(shown.missed).toMatchObject({ start: 1, recent: [{ run: id, kind: 'start' }] });
  leader.child.kill('SIGTERM');
  expect(await leader.ended).toMatchObject({ code: 143 });
  expect(leader.output()).toMatch(/late did not start by /);
  expect(flow.events()).toHaveLength(1);
});
