/** The JSON of `--json`: part of the public API, documented in docs/cli.md. Instants are ISO 8601 text in UTC. */
import type { Backfill, FireRecord, FireView } from '@flowline/core/internal';

/** A backfill: `{ id, dag, version, from, to, state, total, ... }`, and what was asked for. */
export function backfillJson(backfill: Backfill) {
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
    params: backfill.params ?? null,
    reason: backfill.reason,
    createdAt: backfill.createdAt,
    endedAt: backfill.endedAt,
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

/** A fire, or a span of fires, that did not become a run of its own. */
export function fireJson({ dagId, from, to, count, reason, runId, at }: FireRecord) {
  return { dag: dagId, from, to, count, reason, run: runId, at };
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
