import type { LogLine } from '../../model/run.js';

export interface LogVerbs {
  /** Appends lines; `at` is given by the writer, for display only. Duplicates (same run, job, attempt, seq) are ignored. */
  appendLogs(lines: readonly LogLine[], retentionMs: number): Promise<void>;
  /** In order of writing; `after` is the cursor returned before, for following. */
  readLogs(filter: {
    readonly runId: string;
    readonly jobId?: string;
    readonly after?: string;
    readonly limit?: number;
  }): Promise<{ readonly lines: LogLine[]; readonly cursor: string | null }>;
}
