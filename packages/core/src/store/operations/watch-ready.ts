import { hello, type StoreContext } from '../context.js';

/**
 * Calls back when a task becomes ready in any process. A hint only, and only where there are change streams (replica sets,
 * sharded clusters); elsewhere `supported` is false and polling finds the same work. Never throws.
 */
export async function watchReady(
  context: StoreContext,
  listener: () => void,
): Promise<{ readonly supported: boolean; stop(): Promise<void> }> {
  const unsupported = { supported: false, stop: async () => {} };
  const deployment = await hello(context.db).catch(() => null);
  if (deployment === null) return unsupported;
  if (deployment.setName === undefined && deployment.msg !== 'isdbgrid') return unsupported;
  const stream = context.db.collection('tasks').watch(
    [
      {
        // Updates by pipeline, as ours are, are told as replacements by MongoDB 4.4 and as updates by newer servers.
        $match: {
          $or: [
            { operationType: 'update', 'updateDescription.updatedFields.state': 'ready' },
            { operationType: 'replace', 'fullDocument.state': 'ready' },
          ],
        },
      },
      { $project: { _id: 1 } },
    ],
    // The connection's own read concern is `local`, with which MongoDB opens no stream.
    { maxAwaitTimeMS: 10_000, readConcern: { level: 'majority' } },
  );
  let isStopped = false;
  const stop = async () => {
    isStopped = true;
    await stream.close().catch(() => {});
  };
  const reading = (async () => {
    // Whoever drops the collection ends the stream; the driver then answers "nothing yet" at once, for ever.
    while (!isStopped && !stream.closed) {
      if ((await stream.tryNext()) !== null && !isStopped) listener();
    }
  })();
  // A stream that ends for good costs a hint, not work: the driver has resumed what could be resumed.
  const ended = reading
    .catch(() => {})
    .then(() => stop())
    .then(() => false);
  const opened = new Promise<boolean>((resolve) => {
    stream.once('resumeTokenChanged', () => resolve(true));
  });
  return { supported: await Promise.race([opened, ended]), stop };
}
