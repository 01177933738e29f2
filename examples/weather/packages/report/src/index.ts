export { Aggregate, Convert, Report } from './report.job.js';
