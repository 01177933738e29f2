/** What `flow doctor` looks at, one check a file: a name, a look, and for some a mending. */
import type { Store } from '@flowline/core/internal';

export type CheckState = 'ok' | 'warning' | 'fault';

/** What a check found. `fault` makes `flow doctor` end with 1; a warning is harmless by itself. */
export interface Finding {
  readonly state: CheckState;
  /** One sentence. */
  readonly message: string;
  /** One line for each thing that was found. */
  readonly details?: readonly string[];
  /** What to do, where `--fix` does not do it. */
  readonly hint?: string;
}

export interface Check {
  readonly name: string;
  look(store: Store): Promise<Finding>;
  /** Mends what `look` finds, by what can be repeated without harm; answers what it did, a line each. */
  mend?(store: Store): Promise<readonly string[]>;
}

/** How long the duties of a leader may take before what they owe counts as left undone, in ms. */
export const patienceMs = 10_000;

/** A runner that has not been heard of for so long counts as silent, in ms. */
export const silentMs = 60_000;
