/**
 * Log lines. Written once each: the id is task, attempt and sequence, so a repeated append changes nothing.
 *
 * Order of reading: `storedAt`, the database's time as the writer estimated it, then the id. Two writers may be some
 * milliseconds apart and a write may become visible a little after its stamp, so one who follows reads the last seconds
 * again; the cursor says up to which sequence each attempt was seen in that time, so that no line comes twice.
 */
import type { Filter } from 'mongodb';
import { UsageError } from '../../errors.js';
import { taskId } from '../../model/ids.js';
import type { LogLine } from '../../model/run.js';
import type { LogDocument } from '../collections.js';
import type { StoreContext } from '../context.js';
import { duplicatesOf } from '../driver-errors.js';
import { fromPayload, toPayload } from '../payload/payload.js';

const linesPerInsert = 1_000;
const defaultLimit = 1_000;
const overlapMs = 3_000;
const longestMessage = 64 * 1_024;
const largestData = 256 * 1_024;

export async function appendLogs(
  context: StoreContext,
  lines: readonly LogLine[],
  retentionMs: number,
): Promise<void> {
  const storedAt = await context.clock.fresh();
  const expireAt = new Date(storedAt.getTime() + retentionMs);
  const documents = lines.map((line) => logDocument(line, storedAt, expireAt));
  for (let from = 0; from < documents.length; from += linesPerInsert) {
    try {
      await context.collections.logs.insertMany(documents.slice(from, from + linesPerInsert), {
        ordered: false,
      });
    } catch (error) {
      // Stored by an earlier call.
      duplicatesOf(error);
    }
  }
}

function logDocument(line: LogLine, storedAt: Date, expireAt: Date): LogDocument {
  const seq = String(line.seq).padStart(10, '0');
  return {
    _id: `${taskId(line.runId, line.jobId)}/${line.attempt}/${seq}`,
    runId: line.runId,
    jobId: line.jobId,
    attempt: line.attempt,
    seq: line.seq,
    at: line.at,
    storedAt,
    level: line.level,
    message:
      line.message.length <= longestMessage
        ? line.message
        : `${line.message.slice(0, longestMessage)}... (${line.message.length} characters)`,
    data: storableData(line.data),
    expireAt,
  };
}

/** A line is never lost for its data: what cannot be stored is said instead. */
function storableData(data: unknown): LogDocument['data'] {
  try {
    return toPayload(data, 'data', largestData);
  } catch (error) {
    return toPayload({ notStored: (error as Error).message }, 'data', largestData);
  }
}

/** How far a reader is: an instant, and the last sequence of each attempt that had lines shortly before it. */
interface Cursor {
  readonly at: number;
  readonly seen: Readonly<Record<string, number>>;
}

export async function readLogs(
  context: StoreContext,
  filter: {
    readonly runId: string;
    readonly jobId?: string;
    readonly after?: string;
    readonly limit?: number;
  },
): Promise<{ readonly lines: LogLine[]; readonly cursor: string | null }> {
  const limit = filter.limit ?? defaultLimit;
  const cursor = filter.after === undefined ? null : parseCursor(filter.after);
  const where: Filter<LogDocument> = { runId: filter.runId };
  if (filter.jobId !== undefined) where.jobId = filter.jobId;
  if (cursor !== null) where.storedAt = { $gte: new Date(cursor.at - overlapMs) };
  const fresh: LogDocument[] = [];
  const reading = context.collections.logs.find(where).sort({ storedAt: 1, _id: 1 });
  try {
    for (let line = await reading.next(); line !== null; line = await reading.next()) {
      if (line.seq <= (cursor?.seen[attemptKey(line)] ?? -1)) continue;
      fresh.push(line);
      if (fresh.length >= limit) break;
    }
  } finally {
    await reading.close();
  }
  const last = fresh.at(-1);
  if (last === undefined) return { lines: [], cursor: filter.after ?? null };
  return { lines: fresh.map(logLine), cursor: formatCursor(cursor, last.storedAt, fresh) };
}

/** The cursor after these lines: attempts that were silent for long are forgotten. */
function formatCursor(before: Cursor | null, at: Date, lines: readonly LogDocument[]): string {
  const seen = new Map(Object.entries(before?.seen ?? {}));
  const recent = new Set<string>();
  for (const line of lines) {
    seen.set(attemptKey(line), Math.max(line.seq, seen.get(attemptKey(line)) ?? -1));
    if (line.storedAt.getTime() >= at.getTime() - overlapMs) recent.add(attemptKey(line));
  }
  const moved = before === null || at.getTime() - before.at > overlapMs;
  const kept = moved ? [...seen].filter(([key]) => recent.has(key)) : [...seen];
  return JSON.stringify({ at: at.getTime(), seen: Object.fromEntries(kept) });
}

function parseCursor(text: string): Cursor {
  try {
    const cursor = JSON.parse(text) as Cursor;
    if (typeof cursor.at === 'number' && typeof cursor.seen === 'object') return cursor;
  } catch {
    // Said below.
  }
  throw new UsageError(
    `after: expected the cursor of an earlier reading, found ${text.slice(0, 60)}`,
  );
}

function attemptKey(line: { readonly jobId: string; readonly attempt: number }): string {
  return `${line.jobId}/${line.attempt}`;
}

function logLine(document: LogDocument): LogLine {
  const data = fromPayload(document.data);
  return {
    runId: document.runId,
    jobId: document.jobId,
    attempt: document.attempt,
    seq: document.seq,
    at: document.at,
    level: document.level,
    message: document.message,
    ...(data === undefined ? {} : { data }),
  };
}
