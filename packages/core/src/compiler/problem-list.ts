import type { Site } from '../definition/site.js';
import type { Problem } from '../errors.js';
import type { DagNode, JobNode } from './nodes.js';
import { type CompilerProblemCode, compilerProblemCodes } from './problem-codes.js';

/** Whom a problem is about: a job, a DAG, or a class that is neither. */
export type Subject =
  | JobNode
  | DagNode
  | { readonly name: string; readonly site: Site | undefined };

interface Entry {
  readonly code: string;
  readonly severity: Problem['severity'];
  readonly subject: Subject;
  readonly field: string;
  readonly message: string;
  readonly hint: string | undefined;
  readonly site: Site | undefined;
}

/** What a pass reports. `message` says expected and found, `hint` what to do. */
export interface Report {
  readonly code: string;
  /** Default: what the table of codes says. */
  readonly severity?: Problem['severity'];
  /** The option's path inside its class: `retry.backoff.max`; empty for the class itself. */
  readonly field?: string;
  readonly message: string;
  readonly hint?: string | undefined;
  /** Default: where the decorator of the subject stands. */
  readonly site?: Site | undefined;
}

/** The problems of one compilation. Paths are written at the end, when every job knows its DAG. */
export class ProblemList {
  readonly #entries: Entry[] = [];

  add(subject: Subject, report: Report): void {
    this.#entries.push({
      code: report.code,
      severity: report.severity ?? severityOf(report.code),
      subject,
      field: report.field ?? '',
      message: report.message,
      hint: report.hint,
      site: report.site ?? siteOfSubject(subject),
    });
  }

  /** True when an error is about this DAG or one of its jobs. */
  hasErrors(dag: DagNode): boolean {
    return this.#entries.some(
      ({ severity, subject }) =>
        severity === 'error' && (subject === dag || ('dag' in subject && subject.dag === dag)),
    );
  }

  /** All problems by file, line, path and code, so that the order of imports does not show. */
  toProblems(): Problem[] {
    return this.#entries
      .map(toProblem)
      .sort(
        (a, b) =>
          compare(a.file ?? '', b.file ?? '') ||
          (a.line ?? 0) - (b.line ?? 0) ||
          compare(a.path, b.path) ||
          compare(a.code, b.code) ||
          compare(a.message, b.message),
      );
  }
}

function toProblem({ code, severity, subject, field, message, hint, site }: Entry): Problem {
  return {
    code,
    severity,
    path: [...namesOf(subject), field].filter((part) => part !== '').join(' > '),
    message,
    ...(hint === undefined ? {} : { hint }),
    ...(site === undefined ? {} : { file: site.file, line: site.line }),
  };
}

/** Where a subject stands in the source, when known. */
export function siteOfSubject(subject: Subject): Site | undefined {
  if ('site' in subject) return subject.site;
  // A DAG that its root names stands where the root stands.
  return 'jobs' in subject && subject.authored === undefined
    ? subject.jobs.find((job) => job.name === subject.name)?.authored.site
    : subject.authored?.site;
}

function namesOf(subject: Subject): string[] {
  const dag = 'dag' in subject ? subject.dag : undefined;
  // A root that names its own DAG is said once.
  if (dag === undefined || (dag.authored === undefined && dag.name === subject.name)) {
    return [subject.name];
  }
  return [dag.name, subject.name];
}

function severityOf(code: string): Problem['severity'] {
  return code in compilerProblemCodes ? compilerProblemCodes[code as CompilerProblemCode] : 'error';
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
