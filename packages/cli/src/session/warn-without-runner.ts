import type { Store } from '@flowline/core/internal';

const firstLookMs = 3_000;
const lookEveryMs = 5_000;
/** A runner that has not been heard of for this long is not counted as alive. */
const silentMs = 30_000;

/**
 * For commands that wait: says once, within 10 s, that nobody will do the work. Call it at every look; it asks the
 * database seldom. Nothing is said while work is going on.
 */
export function warnWithoutRunner(
  store: Store,
  say: (line: string) => void,
): (isWaiting: boolean) => Promise<void> {
  let nextAt = performance.now() + firstLookMs;
  const told = new Set<string>();
  const tell = (line: string) => {
    if (!told.has(line)) say(line);
    told.add(line);
  };
  return async (isWaiting) => {
    if (!isWaiting || performance.now() < nextAt) return;
    nextAt = performance.now() + lookEveryMs;
    const now = store.estimateServerTime().getTime();
    const alive = (await store.listRunners()).filter(
      ({ state, heartbeatAt }) => state === 'running' && now - heartbeatAt.getTime() < silentMs,
    );
    if (alive.length === 0) {
      tell('no runner is alive: start one with "flow runner" in another terminal');
      return;
    }
    for (const { serveKey } of await store.findUnserved(20)) {
      const [dag, job] = serveKey.split('/');
      tell(
        `no runner knows the job ${job} of ${dag}: start one that has its code, or deploy and restart`,
      );
    }
  };
}
