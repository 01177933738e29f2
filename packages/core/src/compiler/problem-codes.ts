/**
 * The codes of all problems that the compiler itself can report; those of schedules are in time/. The documentation has
 * one row for each, in docs/problems.md; a test compares the two. A code never changes its meaning.
 */
export const compilerProblemCodes = {
  // Classes
  'not-decorated': 'error',
  'job-missing': 'error',
  'dag-and-job': 'error',
  'options-not-an-object': 'error',
  'run-missing': 'error',
  'run-parameters': 'error',
  'constructor-parameters': 'error',
  // Ids
  'id-invalid': 'error',
  'id-too-long': 'error',
  'duplicate-job-id': 'error',
  'duplicate-dag-id': 'error',
  // Edges
  'dependency-undefined': 'error',
  'dependency-unknown': 'error',
  'dependency-twice': 'error',
  cycle: 'error',
  // Graphs
  'dag-unknown': 'error',
  'dag-missing': 'error',
  'dag-empty': 'error',
  'job-in-two-dags': 'error',
  'graph-option-twice': 'error',
  'graph-option-on-inner-job': 'error',
  // Options
  'unknown-option': 'error',
  'option-type': 'error',
  'option-value': 'error',
  'option-range': 'error',
  'option-clash': 'error',
  duration: 'error',
  'backoff-without-retries': 'error',
  'errors-without-retries': 'error',
  'option-without-effect': 'warning',
  'schedule-clock-change': 'warning',
  'schedule-over': 'warning',
} as const;

export type CompilerProblemCode = keyof typeof compilerProblemCodes;
