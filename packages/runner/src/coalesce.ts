/**
 * Runs work by key, one at a time: a call while it runs makes it run once more afterwards, however many calls came. For
 * work that looks at everything there is to do, so that many reasons to look cost one or two looks.
 */
export class Coalescer {
  readonly #running = new Map<string, { again: boolean; done: Promise<void> }>();

  /** Resolves when a run of the work that started after this call is over. The work must not throw. */
  run(key: string, work: () => Promise<void>): Promise<void> {
    const running = this.#running.get(key);
    if (running !== undefined) {
      running.again = true;
      return running.done;
    }
    const entry = { again: false, done: Promise.resolve() };
    entry.done = (async () => {
      do {
        entry.again = false;
        await work();
      } while (entry.again);
      this.#running.delete(key);
    })();
    this.#running.set(key, entry);
    return entry.done;
  }

  /** Resolves when nothing runs any more. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }
}
