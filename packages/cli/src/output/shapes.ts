/** The JSON of `--json`: part of the public API, documented in docs/cli.md. Instants are ISO 8601 text in UTC. */
import type {
  Backfill,
  ClockChangeView,
  FireRecord,
  FireView,
  MissedExpectation,
} from '@flowline/core/internal';

/** A backfill: `{ id, dag, version, from, to, state, total, ... }`, what was asked for, and when it is likely to end. */
export function backfillJson(backfill: Backfill, eta: Date | null = null) {
  return {
    id: backfill.id,
    dag: backfill.dagId,
    version: backfill.version,
    from: backfill.from,
    to: backfill.to,
    state: backfill.state,
    total: backfill.total,
    succeeded: backfill.succeeded,
    failed: backfill.failed,
    cancelled: backfill.cancelled,
    skipped: backfill.skipped,
    running: backfill.running,
    queued: backfill.queued,
    maxActive: backfill.maxActive,
    order: backfill.order,
    reprocess: backfill.reprocess,
    jobs: backfill.jobs,
    params: backfill.params ?? null,
    reason: backfill.reason,
    createdAt: backfill.createdAt,
    endedAt: backfill.endedAt,
    eta,
    passedOver: backfill.passedOver,
  };
}

/** A coming fire: `{ logicalDate, local, dataInterval, note }`. */
export function nextFireJson({
  logicalDate,
  local,
  dataInterval,
  note,
}: FireView): Omit<FireView, 'isExcluded'> {
  return { logicalDate, local, dataInterval, note };
}

/** A coming change of clocks: `{ at, kind, localFrom, localTo, offsetBefore, offsetAfter, effect, fires }`. */
export function clockChangeJson({ fires, ...change }: ClockChangeView) {
  return { ...change, fires: fires.map(nextFireJson) };
}

/** A fire, or a span of fires, that did not become a run of its own; local times are null where the schedule is broken. */
export function fireJson(
  fire: FireRecord & {
    readonly localFrom: string | null;
    readonly localTo: string | null;
    readonly note: string | null;
  },
) {
  const { dagId, from, to, count, reason, runId, at, localFrom, localTo, note } = fire;
  return { dag: dagId, from, to, localFrom, localTo, count, reason, run: runId, at, note };
}

/** A missed expectation: `{ dag, kind, run, logicalDate, count, expectedBy, missedAt }`. */
export function missedJson(missed: MissedExpectation) {
  const { dagId, kind, runId, logicalDate, count, expectedBy, missedAt } = missed;
  return { dag: dagId, kind, run: runId, logicalDate, count, expectedBy, missedAt };
}

/** JSON text with what a plain JSON.stringify cannot write: bigint as text of digits, bytes as base64. */
export function toJson(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, inner: unknown) => {
      if (typeof inner === 'bigint') return inner.toString();
      if (inner instanceof Uint8Array) return Buffer.from(inner).toString('base64');
      return inner;
    },
    2,
  );
}
