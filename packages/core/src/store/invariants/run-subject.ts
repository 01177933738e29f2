import type { RunDocument, SlotDocument, TaskDocument } from '../collections.js';
import type { KnownVersion } from '../version-cache.js';

/** A run with everything that its invariants look at. */
export interface RunSubject {
  readonly run: RunDocument;
  /** By job id. */
  readonly tasks: ReadonlyMap<string, TaskDocument>;
  /** Null when the version is not stored. */
  readonly version: KnownVersion | null;
  /** What `slots` remembers of it. */
  readonly slot: SlotDocument | null;
}
