/**
 * The test kit: processes that die, lose answers or fail at a chosen operation of the database, and processes whose operations
 * are put in order by a seed. What it finds is judged by the same invariants as `flow doctor` asks of a live system.
 */
export { type SharedConnection, shareConnection } from './store/shared-connection.js';
export {
  describeFailure,
  describeReport,
  type EnumerationOptions,
  type EnumerationReport,
  enumerateFaults,
  type FaultFailure,
  type Scenario,
  sampleTwoFaults,
} from './testing/enumerate-faults.js';
export {
  describePlan,
  type Fault,
  type FaultKind,
  type FaultPlan,
  faultKinds,
} from './testing/faults.js';
export {
  describeEncounter,
  describeSeedFailure,
  type Encounter,
  type InterleaveOptions,
  type InterleaveReport,
  interleave,
  type SeedFailure,
} from './testing/interleave.js';
export { Interleaving } from './testing/interleaving.js';
export {
  type Ending,
  type OperationRewriter,
  type ProcessClock,
  type ProcessOptions,
  TestProcess,
} from './testing/test-process.js';
export { type UnderFaultsOptions, underFaults } from './testing/under-faults.js';
