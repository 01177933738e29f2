/** Two runs where there may be one: neighbours in the order of slots, and in the order of dates. */
import type { RunDocument } from '../collections.js';
import type { Audit, Inspection, Invariant } from './inspection.js';

type Slotted = Pick<RunDocument, '_id' | 'dagId' | 'slot' | 'logicalDate' | 'generation'>;

interface Neighbours {
  readonly one: Slotted;
  readonly other: Slotted;
}

const oneRunPerDate: Invariant<Neighbours> = {
  name: 'one-run-per-date',
  *check({ one, other }) {
    const date = one.logicalDate?.toISOString();
    if (date === undefined || date !== other.logicalDate?.toISOString()) return;
    if (one.dagId !== other.dagId || one.generation !== other.generation) return;
    yield {
      subject: `dag ${one.dagId} ${date} generation ${one.generation}`,
      expected: 'one run',
      found: `${one._id} and ${other._id}`,
    };
  },
};

const oneRunPerSlot: Invariant<Neighbours> = {
  name: 'one-run-per-slot',
  *check({ one, other }) {
    if (one.dagId !== other.dagId || one.slot !== other.slot) return;
    yield {
      subject: `dag ${one.dagId} slot ${one.slot}`,
      expected: 'one run',
      found: `${one._id} and ${other._id}`,
    };
  },
};

const fields = { dagId: 1, slot: 1, logicalDate: 1, generation: 1 } as const;

/** Each reads in the order of an index, so that the server sorts nothing. */
export const dates = inOrderOf({ dagId: 1, logicalDate: 1, generation: 1 }, oneRunPerDate);
export const slots = inOrderOf({ dagId: 1, slot: 1 }, oneRunPerSlot);

function inOrderOf(
  order: Readonly<Record<string, 1>>,
  invariant: Invariant<Neighbours>,
): Inspection<Neighbours> {
  return {
    read: (audit) => neighbours(audit, order),
    async again(audit, { one, other }) {
      const { runs } = audit.context.collections;
      const found = await runs
        .find({ _id: { $in: [one._id, other._id] } }, { projection: fields })
        .toArray();
      const byId = new Map(found.map((run) => [run._id, run]));
      const [first, second] = [byId.get(one._id), byId.get(other._id)];
      return first === undefined || second === undefined ? null : { one: first, other: second };
    },
    invariants: [invariant],
  };
}

async function* neighbours(
  audit: Audit,
  order: Readonly<Record<string, 1>>,
): AsyncIterable<Neighbours> {
  const cursor = audit.context.collections.runs
    .find(audit.ofDags, { projection: fields })
    .sort(order)
    .allowDiskUse();
  let last: Slotted | null = null;
  for (let run = await cursor.next(); run !== null; run = await cursor.next()) {
    // A document that was changed while it was walked over may come twice.
    if (last !== null && last._id !== run._id) yield { one: last, other: run };
    last = run;
  }
}
