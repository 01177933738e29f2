/** The names of all options, and where people look for options that live elsewhere. */

/** Options of a whole graph: legal on `@Dag` and on root jobs. */
export const graphOptionNames = [
  'schedule',
  'misfire',
  'overlap',
  'maxActiveRuns',
  'maxQueuedRuns',
  'onResume',
  'expectWithin',
  'retention',
] as const;

export const dagOptionNames = ['id', 'description', ...graphOptionNames] as const;

export const jobOptionNames = [
  'id',
  'description',
  'dag',
  ...graphOptionNames,
  'retry',
  'timeout',
  'queue',
  'priority',
  'onLost',
  'maxLost',
  'allowFailure',
] as const;

const inSchedule = {
  cron: "Write schedule: { cron: '...' }.",
  every: "Write schedule: { every: '...' }.",
  timeZone: "Write schedule: { cron: '...', timeZone: '...' }.",
  timezone: "Write schedule: { cron: '...', timeZone: '...' }.",
  tz: "Write schedule: { cron: '...', timeZone: '...' }.",
  startAt: 'It belongs inside schedule: { ... }.',
  endAt: 'It belongs inside schedule: { ... }.',
};

const onGraph = {
  name: 'Write id.',
  concurrency: 'Write maxActiveRuns.',
  catchup: "Write misfire: 'catch-up'.",
  catchUp: "Write misfire: 'catch-up'.",
  sla: "Write expectWithin: { finish: '2h' }.",
  deadline: "Write expectWithin: { finish: '2h' }.",
};

/** Where an option lives that was written directly in `@Job`. */
export const movedJobOptions: Readonly<Record<string, string>> = {
  ...inSchedule,
  ...onGraph,
  attempts: 'Write retry: { attempts: 3 }.',
  retries: 'Write retry: { attempts: 3 }; it counts the first try.',
  maxRetries: 'Write retry: { attempts: 3 }; it counts the first try.',
  maxAttempts: 'Write retry: { attempts: 3 }.',
  backoff: 'Write retry: { attempts: 3, backoff: { ... } }.',
  retryOn: 'It belongs inside retry: { ... }.',
  abortOn: 'It belongs inside retry: { ... }.',
  dependsOn: 'Write @DependsOn(A, B) below @Job.',
  deps: 'Write @DependsOn(A, B) below @Job.',
};

/** Where an option lives that was written directly in `@Dag`. */
export const movedDagOptions: Readonly<Record<string, string>> = {
  ...inSchedule,
  ...onGraph,
  retry: 'It is an option of each job.',
  timeout: 'It is an option of each job.',
  queue: 'It is an option of each job.',
  priority: 'It is an option of each job.',
  jobs: 'Jobs name their DAG: @Job({ dag: ThisClass }).',
};

/** What people call the keys of `expectWithin`. */
export const movedExpectOptions: Readonly<Record<string, string>> = {
  lateness: 'Write start: so long after it was due.',
  started: 'Write start: so long after it was due.',
  end: 'Write finish: so long after it was due.',
  finished: 'Write finish: so long after it was due.',
  runtime: 'Write duration: so long after it started.',
};

/** Where an option lives that was written in `retry`. */
export const movedRetryOptions: Readonly<Record<string, string>> = {
  retries: 'Write attempts; it counts the first try.',
  maxRetries: 'Write attempts; it counts the first try.',
  limit: 'Write attempts; it counts the first try.',
  delay: "Write backoff: { delay: '...' }.",
  max: "Write backoff: { max: '...' }.",
  factor: 'Write backoff: { factor: 2 }.',
  jitter: "Write backoff: { jitter: 'full' }.",
};
