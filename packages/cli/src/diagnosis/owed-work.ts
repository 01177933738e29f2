import type { OwedKind, Store } from '@flowline/core/internal';
import { counted } from '../output/words.js';
import { type Check, patienceMs } from './check.js';

const inWords: Readonly<Record<OwedKind, readonly [one: string, many: string]>> = {
  'expired-leases': [
    'running task whose lease has expired',
    'running tasks whose leases have expired',
  ],
  'unpropagated-tasks': [
    'task whose dependents were not told',
    'tasks whose dependents were not told',
  ],
  'half-made-runs': ['run without all its tasks', 'runs without all their tasks'],
  'half-started-runs': [
    'run whose first tasks are not ready',
    'runs whose first tasks are not ready',
  ],
  'unfinished-cancellations': ['cancellation not carried out', 'cancellations not carried out'],
  'unfinished-retries': ['retry not carried out', 'retries not carried out'],
  'unfinished-decisions': [
    'decision about fires not carried out',
    'decisions about fires not carried out',
  ],
  'overdue-schedules': [
    'DAG with due fires that nobody decided on',
    'DAGs with due fires that nobody decided on',
  ],
  'stale-places': ['place held by a closed run', 'places held by closed runs'],
};

export const owedWork: Check = {
  name: 'owed work',
  async look(store) {
    const owed = await store.examineOwed(patienceMs);
    if (owed.length === 0) return { state: 'ok', message: 'nothing is left undone' };
    return {
      state: 'fault',
      message: 'work is left undone that a leader should have done',
      details: owed.map(({ kind, count, examples }) => {
        const more = count > examples.length ? ', ...' : '';
        return `${counted(count, ...inWords[kind])}: ${examples.join(', ')}${more}`;
      }),
      hint: 'A runner that may lead pays it within seconds; "flow doctor --fix" pays it now.',
    };
  },
  mend: (store) => payDuties(store),
};

const dagsAtMost = 1_000;

/** What the duties of a leader do, once each. Every one of them is safe beside a leader, and twice. */
async function payDuties(store: Store): Promise<string[]> {
  const did: string[] = [];
  const tell = (count: number, one: string, many: string) => {
    if (count > 0) did.push(`${count} ${count === 1 ? one : many}`);
  };
  let fires = 0;
  for (const dagId of await store.findDueDags(dagsAtMost)) {
    const settled = await store.settleSchedule(dagId);
    fires += settled.created + settled.recorded;
  }
  tell(fires, 'due fire decided on', 'due fires decided on');
  // A lease of the longest usual length: whoever lives was heard within it.
  const rescued = await store.rescueExpired(20_000);
  tell(rescued.length, 'task taken back from a lost runner', 'tasks taken back from lost runners');
  tell(await store.finishHalfMadeRuns(patienceMs), 'run completed', 'runs completed');
  tell(await store.finishRetries(), 'retry carried out', 'retries carried out');
  tell(await store.continueCancels(), 'cancellation continued', 'cancellations continued');
  tell(
    await store.payPropagation(2_000),
    "closed task's dependents told",
    "closed tasks' dependents told",
  );
  tell(await store.repairPlaces(), 'place repaired', 'places repaired');
  let admitted = 0;
  for await (const dagId of dagsWithQueuedRuns(store))
    admitted += (await store.admitRuns(dagId)).length;
  tell(admitted, 'queued run admitted', 'queued runs admitted');
  tell(await store.feedBackfills(), 'run of a backfill made', 'runs of backfills made');
  return did;
}

/** All of them, once: an answer goes round, so the first DAG that is known already is the end. */
async function* dagsWithQueuedRuns(store: Store): AsyncIterable<string> {
  const seen = new Set<string>();
  for (let after: string | undefined; ; ) {
    const dagIds = await store.findDagsWithQueuedRuns(dagsAtMost, after);
    const fresh = dagIds.filter((id) => !seen.has(id));
    yield* fresh;
    if (fresh.length < dagsAtMost) return;
    for (const id of fresh) seen.add(id);
    after = fresh.at(-1);
  }
}
