/**
 * Finished steps of a task: values that a later attempt finds instead of making them again.
 *
 * Authority: the task's state, holder and token, as for the finish; a stale holder reads and writes nothing. They stand in
 * the task itself, because a guard and a write in two documents are two writes. Steps of an older generation do not count
 * and go with the next write.
 *
 * Dying before the write: the step is done again. After it: the next attempt finds it. A repeated write finds its own
 * step under its token and is the same write.
 */
import type { Document, Filter, UpdateFilter } from 'mongodb';
import { ConflictError, LeaseLostError, PayloadError } from '../../errors.js';
import type { StepDocument, TaskDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { fromPayload, toPayload } from '../payload/payload.js';
import { literal } from '../task-transitions.js';
import type { HeldLease, Step } from '../verbs/task-verbs.js';

const mostSteps = 1_000;

/** Steps of the task's present generation, as an expression. */
const present: Document = {
  $filter: {
    input: { $ifNull: ['$steps', []] },
    as: 'one',
    cond: { $eq: ['$$one.generation', '$generation'] },
  },
};

export async function readSteps(
  context: StoreContext,
  lease: HeldLease,
  runnerId: string,
): Promise<Step[]> {
  const task = await context.collections.tasks.findOne(holderOf(lease, runnerId), {
    projection: { steps: 1, generation: 1 },
  });
  if (task === null) throw leaseLost(lease, 'The steps of');
  return stepsOf(task).map(({ name, value }) => ({ name, value: fromPayload(value) }));
}

export async function saveStep(
  context: StoreContext,
  lease: HeldLease,
  runnerId: string,
  { name, value }: Step,
): Promise<void> {
  const limit = context.payloadLimitBytes;
  const label = stepLabel(name);
  const payload = toPayload(value, label, limit);
  const bytes = payload?.length() ?? 0;
  const step = { name, token: lease.token, bytes, value: payload };
  const holder = holderOf(lease, runnerId);
  const written = await context.collections.tasks.updateOne(
    {
      ...holder,
      $expr: {
        $and: [
          { $not: [{ $in: [literal(name), { $map: each('$$one.name') }] }] },
          { $lt: [{ $size: present }, mostSteps] },
          { $lte: [{ $add: [{ $sum: { $map: each('$$one.bytes') } }, bytes] }, limit] },
        ],
      },
    },
    [
      {
        $set: {
          steps: {
            $concatArrays: [
              present,
              [{ $mergeObjects: [literal(step), { generation: '$generation' }] }],
            ],
          },
        },
      },
    ] as unknown as UpdateFilter<TaskDocument>,
  );
  if (written.matchedCount === 1) return;
  const task = await context.collections.tasks.findOne(holder, {
    projection: { steps: 1, generation: 1 },
  });
  if (task === null) throw leaseLost(lease, `The step ${JSON.stringify(name)} of`);
  const steps = stepsOf(task);
  const same = steps.find((one) => one.name === name);
  // The write had been applied, and its answer was lost.
  if (same?.token === lease.token) return;
  if (same !== undefined) throw new ConflictError(`${label} is stored already for ${lease.taskId}`);
  throw outOfRoom(label, steps, bytes, limit);
}

function each(field: string): Document {
  return { input: present, as: 'one', in: field };
}

function holderOf(lease: HeldLease, runnerId: string): Filter<TaskDocument> {
  return {
    _id: lease.taskId,
    state: 'running',
    token: lease.token,
    'lease.runner': runnerId,
    'lease.token': lease.token,
  };
}

function stepsOf(task: Pick<TaskDocument, 'steps' | 'generation'>): StepDocument[] {
  return (task.steps ?? []).filter((one) => one.generation === task.generation);
}

function stepLabel(name: string): string {
  return `once(${JSON.stringify(name)})`;
}

function outOfRoom(
  label: string,
  steps: readonly StepDocument[],
  bytes: number,
  limit: number,
): PayloadError {
  const used = steps.reduce((sum, one) => sum + one.bytes, 0);
  return new PayloadError(
    label,
    steps.length >= mostSteps
      ? `${label}: the task holds ${steps.length} steps already, the limit is ${mostSteps}`
      : `${label} too large: ${bytes} bytes beside ${used} of earlier steps, the limit for a task is ${limit}`,
    {
      hint: 'Store large values elsewhere and let the step return where; split the job in several.',
    },
  );
}

function leaseLost(lease: HeldLease, what: string): LeaseLostError {
  return new LeaseLostError(
    `${what} ${lease.taskId} under token ${lease.token}: refused, the task is not this attempt's any more.`,
  );
}
