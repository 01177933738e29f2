/**
 * The process's own monotonic time and its timers, as an argument. It measures how long ago something was; it never
 * decides an instant: those come from the database.
 */
export interface Clock {
  /** Milliseconds since an arbitrary origin that all threads of this machine share; never steps back. */
  monotonicMs(): number;
  /** Calls back once, `delayMs` from now; any length. Returns a function that cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The longest delay a Node timer can hold; a longer one would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

/** The real clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  monotonicMs: () => Number(process.hrtime.bigint() / 1000n) / 1000,
  after(delayMs, callback) {
    const dueAt = systemClock.monotonicMs() + Math.max(0, delayMs);
    let timer: NodeJS.Timeout;
    const arm = () => {
      const left = dueAt - systemClock.monotonicMs();
      if (left > longestTimerMs) timer = setTimeout(arm, longestTimerMs);
      else timer = setTimeout(callback, Math.max(0, Math.ceil(left)));
      timer.unref();
    };
    arm();
    return () => clearTimeout(timer);
  },
};
