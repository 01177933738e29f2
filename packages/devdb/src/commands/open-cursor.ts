import { cursorReply, type DocumentSource, takeBatch } from '../state/cursors.js';
import { type Doc, Long } from '../values/value.js';
import type { CommandContext } from './command.js';

/** The first batch of a source, and a cursor for the rest if there is any. */
export function openCursor(
  context: CommandContext,
  source: DocumentSource,
  namespace: string,
  options: {
    readonly batchSize: number;
    readonly limit?: number;
    readonly singleBatch?: boolean;
    readonly noTimeout?: boolean;
    readonly isTailable?: boolean;
    readonly awaitsData?: boolean;
  },
): Doc {
  const batch = takeBatch(source, options.batchSize);
  const { held } = batch;
  const isAtEnd =
    batch.ended ||
    (held === null && options.batchSize > 0 && source.isAtEnd?.() === true) ||
    (Boolean(options.limit) && batch.documents.length >= options.limit!);
  const over = (isAtEnd && !options.isTailable) || options.singleBatch === true;
  const extra = source.resumeToken
    ? new Map([['postBatchResumeToken', source.resumeToken()]])
    : undefined;
  if (over) {
    source.close?.();
    return cursorReply('firstBatch', batch.documents, Long.ZERO, namespace, extra);
  }
  source.pause?.();
  const cursor = context.server.cursors.open({
    namespace,
    source,
    session: context.session?.key ?? null,
    txnNumber: context.transaction === null ? null : context.txnNumber,
    command: context.body,
    noTimeout: options.noTimeout ?? false,
    isTailable: options.isTailable ?? false,
    awaitsData: options.awaitsData ?? false,
  });
  cursor.held = held;
  return cursorReply('firstBatch', batch.documents, cursor.id, namespace, extra);
}
