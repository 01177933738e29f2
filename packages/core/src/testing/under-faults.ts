import type { SharedConnection } from '../store/shared-connection.js';
import { type Ending, type ProcessOptions, TestProcess } from './test-process.js';

export interface UnderFaultsOptions extends ProcessOptions {
  readonly connection: SharedConnection;
  /** What the process does. What it starts and does not wait for dies with it all the same. */
  act(process: TestProcess): Promise<unknown>;
}

/** One life of a process under a plan: how it ended, how many operations it sent, how many of the faults happened. */
export async function underFaults(
  options: UnderFaultsOptions,
): Promise<{ readonly ending: Ending; readonly operations: number; readonly faults: number }> {
  const process = new TestProcess(options.connection, options);
  const ending = await process.live((living) => options.act(living));
  process.kill();
  return { ending, operations: process.operations, faults: process.faults };
}
