import { parseDuration } from '@flowline/core';
import { keySlot } from '@flowline/core/internal';
import type { CommandContext } from '../command-line/command.js';
import { instantFlag } from '../command-line/values.js';
import { runJson } from '../output/run-json.js';
import { toJson } from '../output/shapes.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';
import { requireDag } from './require.js';
import { watchRun } from './watch-run.js';
import type { Session } from './with-session.js';

export interface StartRunFlags {
  readonly dag: string;
  readonly params: unknown;
  readonly at?: string;
  readonly delay?: string;
  readonly key?: string;
  readonly reason?: string;
  readonly wait?: boolean;
  readonly json?: boolean;
}

/** `flow run <dag>`: triggers one run, gives it its place if there is one, and watches it with --wait. */
export async function startRun(
  { store }: Session,
  flags: StartRunFlags,
  context: CommandContext,
): Promise<number> {
  const notBefore = flags.at === undefined ? undefined : instantFlag('--at', flags.at);
  const delayMs = flags.delay === undefined ? undefined : parseDuration(flags.delay, '--delay');
  const slot = flags.key === undefined ? undefined : keySlot(flags.key);
  await requireDag(store, flags.dag);
  const { runId, created } = await store.createRun({
    dagId: flags.dag,
    cause: 'manual',
    ...(flags.params === undefined ? {} : { params: flags.params }),
    ...(notBefore === undefined ? {} : { notBefore }),
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(slot === undefined ? {} : { slot }),
    ...(flags.reason === undefined ? {} : { reason: flags.reason }),
  });
  // The leader would do it at its next tick; a person should not have to wait for it.
  await store.admitRuns(flags.dag);
  if (flags.wait) return watchRun(store, runId, flags.json === true, context);
  if (flags.json) {
    const run = await store.viewRun(runId);
    print(
      context.terminal,
      toJson(run === null ? { id: runId, created } : { ...runJson(run), created }),
    );
  } else if (created) {
    print(context.terminal, `run ${runId} of ${flags.dag} created: flow show ${runId}`);
  } else {
    print(context.terminal, `run ${runId} of ${flags.dag} has this key already`);
  }
  return exitCodes.done;
}
