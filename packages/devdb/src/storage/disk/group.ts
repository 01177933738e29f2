import type { DiskChange } from './disk-change.js';
import type { FrameWriter } from './frame.js';

/** A group of this size takes no more, so that those in it need not wait for all who come later. */
const FULL_BYTES = 4 * 1024 * 1024;

/** Batches that become one frame together, and one promise for all of them. */
export class Group {
  readonly promise: Promise<void>;
  readonly batches: (readonly DiskChange[])[] = [];
  #resolve: () => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(readonly frame: FrameWriter) {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Those who committed hear of a failure; a group need not have any.
    this.promise.catch(() => {});
  }

  get isFull(): boolean {
    return this.frame.bytes >= FULL_BYTES;
  }

  add(changes: readonly DiskChange[]): void {
    if (changes.length === 0) return;
    for (const change of changes) this.frame.add(change);
    this.batches.push(changes);
  }

  resolve(): void {
    this.#resolve();
  }

  reject(error: unknown): void {
    this.#reject(error);
  }
}
