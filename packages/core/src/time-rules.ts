/**
 * Errors and time rules alone, for commands that need no compiler and no store: loading all of the core would take longer
 * than what they do. No promise of stability beyond that of the names in `index.ts`.
 */

export { FlowError, isFlowError, OptionError, UsageError } from './errors.js';
export { didYouMean } from './time/did-you-mean.js';
export { parseDuration } from './time/duration.js';
export { type ClockChangeView, viewClockChanges } from './time/schedule/clock-view.js';
export { describe } from './time/schedule/describe-schedule.js';
export { type FireView, viewNextFires } from './time/schedule/fire-view.js';
export { parseSchedule } from './time/schedule/parse-schedule.js';
export type { Schedule } from './time/schedule/schedule.js';
export { parseInstant } from './time/zone/instant-text.js';
