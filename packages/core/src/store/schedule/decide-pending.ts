import type { DagDefinition } from '../../model/definition.js';
import type { FireReason } from '../../model/states.js';
import { type DecideFiresInput, decideFires } from '../../time/misfire/decide-fires.js';
import { FireLines } from '../../time/misfire/fire-lines.js';
import { nextFires } from '../../time/schedule/fires.js';
import { jitterOf } from '../../time/schedule/jitter.js';
import type { Schedule } from '../../time/schedule/schedule.js';
import type {
  DecidedLine,
  DecidedMiss,
  DecidedRun,
  PendingDecision,
  SettleMode,
} from './pending-decision.js';
import type { ScheduleState } from './schedule-state.js';

/**
 * Decides one batch at a DAG's cursor. Pure. A schedule that cannot be evaluated, for whatever reason, gives a decision that
 * writes the fire at the cursor down as `broken` and marks the DAG; so does the lack of a definition, of which `definition` then
 * is the reason in words.
 */
export function decidePending(
  dag: ScheduleState,
  definition: DagDefinition | string,
  now: Date,
  mode: SettleMode,
): PendingDecision {
  try {
    if (typeof definition === 'string') throw new Error(definition);
    if (definition.schedule === undefined) throw new Error(`version ${dag.version} has none`);
    const decided = decide(dag, definition, definition.schedule, now, mode);
    return {
      ...decided,
      from: dag.nextFireAt!,
      decidedAt: now,
      version: dag.version,
      broken: null,
    };
  } catch (error) {
    const broken = error instanceof Error ? error.message : String(error);
    return brokenDecision(dag, now, broken);
  }
}

type Decided = Pick<
  PendingDecision,
  'runs' | 'lines' | 'missed' | 'next' | 'nextJitterMs' | 'carry'
>;

function decide(
  dag: ScheduleState,
  definition: DagDefinition,
  schedule: Schedule,
  now: Date,
  mode: SettleMode,
): Decided {
  const input: DecideFiresInput = {
    schedule,
    dagId: dag._id,
    nextFireAt: dag.nextFireAt!,
    now,
    misfire: definition.misfire,
    pausedSpans: dag.pausedSpans,
    onResume: definition.onResume,
    carry: dag.carry,
  };
  const jitterAt = (date: Date) => jitterOf(schedule, dag._id, date);
  switch (mode) {
    case 'due':
      return withMisses(definition, answer(schedule, input, []), jitterAt);
    case 'replace':
      return withMisses(definition, answer(schedule, { ...input, isEnding: true }, []), jitterAt);
    case 'retire': {
      const pausedSpans = dag.pausedSpans.map(
        (span) => ({ ...span, to: span.to ?? now, onResume: 'skip' }) as const,
      );
      const misfire = { ...definition.misfire, policy: 'skip' } as const;
      // A coalesced run that was growing will not be made: its fires are a line, too.
      const begun = dag.carry?.folding ?? null;
      const carry = dag.carry === null ? null : { ...dag.carry, folding: null };
      const lines: DecidedLine[] = [];
      if (begun !== null) {
        const [from] = nextFires(schedule, { after: begun.from });
        lines.push({ from: from!, to: begun.newest, count: begun.count, reason: 'skipped' });
      }
      const { runs, ...rest } = answer(schedule, { ...input, pausedSpans, misfire, carry }, lines);
      return { ...rest, runs: [], lines: [...rest.lines, ...runs.map(skippedLine)] };
    }
  }
}

const misfireReasons: readonly FireReason[] = ['skipped', 'expired', 'capped'];

/** Fires that became misfires and get no run cannot do any more what was expected of them. */
function withMisses(
  { expectWithin }: DagDefinition,
  decided: Decided,
  jitterAt: (date: Date) => number,
): Decided {
  const { startMs, finishMs } = expectWithin ?? {};
  const kinds = [
    { kind: 'start', ms: startMs },
    { kind: 'finish', ms: finishMs },
  ] as const;
  // Excluded and paused dates were left out on purpose.
  const late = decided.lines.filter(({ reason }) => misfireReasons.includes(reason));
  const [first] = late;
  if (first === undefined) return decided;
  const { from } = first;
  const count = late.reduce((sum, line) => sum + line.count, 0);
  const dueMs = from.getTime() + jitterAt(from);
  // One outage is one thing to be told, however many fires it took.
  const missed = kinds.flatMap(({ kind, ms }): DecidedMiss[] =>
    ms === undefined ? [] : [{ kind, from, count, by: new Date(dueMs + ms) }],
  );
  return missed.length === 0 ? decided : { ...decided, missed };
}

/** A batch with more runs would keep the leader from its other duties, and from renewing its lease. */
const maxRuns = 50;

function answer(schedule: Schedule, input: DecideFiresInput, before: DecidedLine[]): Decided {
  const whole = decideFires(input);
  const decision = whole.runs.length <= maxRuns ? whole : decideFires({ ...input, limit: maxRuns });
  const jitterAt = (date: Date) => jitterOf(schedule, input.dagId, date);
  return {
    runs: decision.runs.map((run) => {
      const dueAt = new Date(run.logicalDate.getTime() + jitterAt(run.logicalDate));
      return {
        ...run,
        dueAt: run.coalesced === 1 && dueAt > run.dueAt ? dueAt : run.dueAt,
        notBefore: run.notBefore ?? (dueAt > input.now ? dueAt : null),
      };
    }),
    lines: [...before, ...decision.fires],
    next: decision.nextFireAt,
    nextJitterMs: decision.nextJitterMs,
    carry: decision.carry,
  };
}

/** The cursor stays where it is: it shows since when nothing could be decided. What was begun is written down. */
export function brokenDecision(dag: ScheduleState, now: Date, broken: string): PendingDecision {
  const at = dag.nextFireAt!;
  return {
    from: at,
    decidedAt: now,
    version: dag.version,
    runs: [],
    lines: [...linesOfCarry(dag.carry), { from: at, to: at, count: 1, reason: 'broken' }],
    next: at,
    nextJitterMs: dag.nextJitterMs,
    carry: null,
    broken,
  };
}

/**
 * What a decision that can never be carried out becomes: the cursor goes where it was to go, and what has no run of its own, and
 * can get none, is written down. `hasRun` tells of the runs that somebody made before.
 */
export function withoutRuns(
  pending: PendingDecision,
  hasRun: (run: DecidedRun) => boolean,
  broken: string,
): PendingDecision {
  const lost = pending.runs.filter((run) => !hasRun(run));
  const lines = lost.map(({ logicalDate: at, coalesced }) => ({
    ...{ from: at, to: at, count: coalesced },
    reason: 'broken' as const,
  }));
  return {
    ...pending,
    runs: [],
    lines: [...pending.lines, ...lines, ...linesOfCarry(pending.carry)],
    carry: null,
    broken,
  };
}

/** What earlier batches left open, as it is written down when no batch follows. */
function linesOfCarry(carry: ScheduleState['carry']): DecidedLine[] {
  const lines = new FireLines(carry?.line ?? null);
  lines.close();
  const begun = carry?.folding ?? null;
  if (begun === null) return [...lines.closed];
  const { newest, count } = begun;
  return [...lines.closed, { from: newest, to: newest, count, reason: 'broken' }];
}

function skippedLine(run: DecidedRun): DecidedLine {
  return { from: run.logicalDate, to: run.logicalDate, count: run.coalesced, reason: 'skipped' };
}
