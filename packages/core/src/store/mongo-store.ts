import { StoreError } from '../errors.js';
import { getBackfill, listBackfills, readDurations } from './backfill/backfill-reads.js';
import { cancelBackfill, pauseBackfill, resumeBackfill } from './backfill/control-backfill.js';
import { createBackfill } from './backfill/create-backfill.js';
import { feedBackfills } from './backfill/feed-backfills.js';
import { planBackfill } from './backfill/plan-backfill.js';
import type { StoreContext } from './context.js';
import { getDag, getVersion, listDags } from './deploy/dag-reads.js';
import { deployDag, planDeploy } from './deploy/deploy-dag.js';
import { retireDag } from './deploy/retire-dag.js';
import { converting } from './driver-errors.js';
import { examineDeployment } from './examination/examine-deployment.js';
import { examineIndexes } from './examination/examine-indexes.js';
import { examineOwed } from './examination/examine-owed.js';
import {
  countMissed,
  listMissed,
  listUnannounced,
  markAnnounced,
} from './expectations/list-missed.js';
import { noticeMissed } from './expectations/notice-missed.js';
import { checkInvariants } from './invariants/check-invariants.js';
import { admitDags } from './operations/admit-dags.js';
import { admitRuns } from './operations/admit-runs.js';
import { cancelRun } from './operations/cancel-run.js';
import { claimTasks } from './operations/claim-tasks.js';
import { commitAttempt } from './operations/commit-attempt.js';
import { continueCancels } from './operations/continue-cancels.js';
import { createRun } from './operations/create-run.js';
import { finishAttempt } from './operations/finish-attempt.js';
import { finishHalfMadeRuns } from './operations/finish-half-made-runs.js';
import {
  acquireLeadership,
  getLeadership,
  releaseLeadership,
  renewLeadership,
} from './operations/leadership.js';
import { appendLogs, readLogs } from './operations/logs.js';
import { payPropagation } from './operations/pay-propagation.js';
import { prepare } from './operations/prepare.js';
import { earliestDelayed, promoteDelayed } from './operations/promote-delayed.js';
import { propagate } from './operations/propagate.js';
import {
  countRuns,
  findDagsWithQueuedRuns,
  findUnserved,
  getRun,
  getTask,
  listRuns,
  viewRun,
} from './operations/query-runs.js';
import { readInputs } from './operations/read-inputs.js';
import { renewLeases } from './operations/renew-leases.js';
import { repairPlaces } from './operations/repair-places.js';
import { reportProgress } from './operations/report-progress.js';
import { rescueExpired, rescueRunner } from './operations/rescue.js';
import {
  heartbeatRunner,
  listRunners,
  registerRunner,
  removeRunner,
  retireRunner,
} from './operations/runners.js';
import { readSteps, saveStep } from './operations/steps.js';
import { watchReady } from './operations/watch-ready.js';
import { finishRetries } from './retry/finish-retries.js';
import { retryRun } from './retry/retry-run.js';
import { earliestFireAt, findDueDags } from './schedule/find-due-dags.js';
import { foresee } from './schedule/foresee.js';
import { countFires, listFires } from './schedule/list-fires.js';
import { pauseDag, resumeDag } from './schedule/pause-dag.js';
import { rehearseSettling } from './schedule/rehearse-settling.js';
import { settleDamaged, settleDue } from './schedule/settle-due.js';
import { settleSchedule } from './schedule/settle-schedule.js';
import type { Store } from './store.js';

/** The store on MongoDB: every verb is a file of its own; here they are only bound to one connection. */
export function createMongoStore(context: StoreContext): Store {
  /** The verb on this connection; what the driver throws comes out as StoreError. */
  const on =
    <Args extends unknown[], Result>(
      verb: (context: StoreContext, ...args: Args) => Promise<Result>,
    ) =>
    (...args: Args): Promise<Result> =>
      converting(() => {
        if (context.watch.isStopped)
          throw new StoreError('The connection to the database is closed.');
        return verb(context, ...args);
      });

  return {
    readServerTime: on(() => context.clock.read()),
    estimateServerTime: () => context.clock.estimate(),
    get clockOffsetMs() {
      return context.clock.offsetMs;
    },
    measureClockOffset: (samples) => converting(() => context.clock.measure(samples)),
    watchReady: on(watchReady),
    prepare: on(prepare),

    examineDeployment: on(examineDeployment),
    examineIndexes: on(examineIndexes),
    examineOwed: on(examineOwed),
    close: () => converting(() => context.watch.stop()),

    deployDag: on(deployDag),
    planDeploy: on(planDeploy),
    retireDag: on(retireDag),
    getDag: on(getDag),
    listDags: on(listDags),
    getVersion: on(getVersion),
    findDueDags: on(findDueDags),
    earliestFireAt: on(earliestFireAt),
    foresee: on(foresee),
    settleSchedule: on(settleSchedule),
    settleDue: on(settleDue),
    settleDamaged: on(settleDamaged),
    rehearseSettling: on(rehearseSettling),
    pauseDag: on(pauseDag),
    resumeDag: on(resumeDag),
    listFires: on(listFires),
    countFires: on(countFires),

    createRun: on(createRun),
    finishHalfMadeRuns: on(finishHalfMadeRuns),
    admitRuns: on(admitRuns),
    admitDags: on((context, dagIds, onReady) => admitDags(context, dagIds, onReady)),
    findDagsWithQueuedRuns: on(findDagsWithQueuedRuns),
    repairPlaces: on(repairPlaces),
    getRun: on(getRun),
    viewRun: on(viewRun),
    listRuns: on(listRuns),
    countRuns: on(countRuns),
    cancelRun: on(cancelRun),
    continueCancels: on(continueCancels),
    retryRun: on(retryRun),
    finishRetries: on(finishRetries),

    claimTasks: on(claimTasks),
    readInputs: on(readInputs),
    renewLeases: on(renewLeases),
    finishAttempt: on(finishAttempt),
    // Converts errors itself: those of the user's own writes stay as they are.
    commitAttempt: (params, work) => commitAttempt(context, params, work),
    readSteps: on(readSteps),
    saveStep: on(saveStep),
    propagate: on(propagate),
    payPropagation: on(payPropagation),
    promoteDelayed: on(promoteDelayed),
    earliestDelayed: on(earliestDelayed),
    rescueExpired: on(rescueExpired),
    rescueRunner: on(rescueRunner),
    reportProgress: on(reportProgress),
    getTask: on(getTask),
    findUnserved: on(findUnserved),

    planBackfill: on(planBackfill),
    createBackfill: on(createBackfill),
    feedBackfills: on(feedBackfills),
    getBackfill: on(getBackfill),
    listBackfills: on(listBackfills),
    readDurations: on(readDurations),
    pauseBackfill: on(pauseBackfill),
    resumeBackfill: on(resumeBackfill),
    cancelBackfill: on(cancelBackfill),

    noticeMissed: on(noticeMissed),
    listMissed: on(listMissed),
    countMissed: on(countMissed),
    listUnannounced: on(listUnannounced),
    markAnnounced: on(markAnnounced),

    registerRunner: on(registerRunner),
    heartbeatRunner: on(heartbeatRunner),
    retireRunner: on(retireRunner),
    removeRunner: on(removeRunner),
    listRunners: on(listRunners),
    acquireLeadership: on(acquireLeadership),
    renewLeadership: on(renewLeadership),
    releaseLeadership: on(releaseLeadership),
    getLeadership: on(getLeadership),

    appendLogs: on(appendLogs),
    readLogs: on(readLogs),

    audit: on(checkInvariants),
  };
}
