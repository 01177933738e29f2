/**
 * Walks every place at which a scenario can be interrupted.
 *
 * For each kind of fault and each operation: a new scene, and a process that acts in it and meets the fault there. Then another
 * process, started afresh, does what survivors do until all work is done, for all these scenes at once. Then every invariant is
 * asked of what is stored, and the scenario says whether what it promised came true. A walk ends where the fault does not
 * happen any more, beyond the operations of an undisturbed pass: so their number may change.
 */
import type { SharedConnection } from '../store/shared-connection.js';
import { auditScenes } from './audit-scenes.js';
import { describePlan, type FaultKind, type FaultPlan, faultKinds, isOfWrites } from './faults.js';
import { seededRandom } from './random.js';
import { type OperationRewriter, TestProcess } from './test-process.js';

export interface Scenario<Scene> {
  readonly name: string;
  /** A new scene each time, with DAGs of its own. */
  prepare(): Promise<Scene>;
  /** What is interrupted. */
  act(process: TestProcess, scene: Scene): Promise<unknown>;
  /** What whoever asked for it does when no answer came: ask again. Before the survivors. */
  askAgain?(process: TestProcess, scene: Scene): Promise<unknown>;
  /** What survivors do until nothing is left to do in any of these scenes, whatever has happened before. */
  recover(process: TestProcess, scenes: readonly Scene[]): Promise<unknown>;
  /** Throws where the promise of the scenario does not hold, given what went wrong. */
  check?(scene: Scene, plan: FaultPlan): Promise<void>;
  /** True: what it does is not for one scene alone, so the survivors have to be done with one before the next begins. */
  readonly isAlone?: boolean;
  /** The DAGs of a scene: what is audited. */
  dagIds(scene: Scene): readonly string[];
}

export interface EnumerationOptions {
  readonly connection: SharedConnection;
  /** Default all. */
  readonly kinds?: readonly FaultKind[];
  readonly rewrite?: OperationRewriter;
  /** Of the processes' clocks. Default 50. */
  readonly speed?: number;
  /** The walk stops after so many failures. Default 3. */
  readonly mostFailures?: number;
}

/** A place at which the scenario broke something. */
export interface FaultFailure {
  readonly scenario: string;
  /** What went wrong in the process that acted, and in the first one that recovered. */
  readonly plan: FaultPlan;
  readonly recoveryPlan: FaultPlan;
  readonly message: string;
}

export interface EnumerationReport {
  readonly scenario: string;
  /** Operations of an undisturbed pass. */
  readonly operations: number;
  /** How many places were visited, by kind of fault. */
  readonly visited: Readonly<Record<FaultKind, number>>;
  readonly failures: readonly FaultFailure[];
}

/** Visits every operation with every kind of fault. Never throws for what the scenario breaks: that is in the report. */
export async function enumerateFaults<Scene>(
  scenario: Scenario<Scene>,
  options: EnumerationOptions,
): Promise<EnumerationReport> {
  const visits = new Visits(scenario, options);
  const clean = await visits.visit([], []);
  await visits.recover();
  const visited: Record<FaultKind, number> = emptyCounts();
  for (const kind of options.kinds ?? faultKinds) {
    for (let at = 1; !visits.isOver; at += 1) {
      const { faults } = await visits.visit([{ kind, at }], []);
      // Timers make a pass a little longer or shorter than another.
      if (faults === 0 && at > (isOfWrites(kind) ? clean.writes : clean.operations)) break;
      visited[kind] += faults;
    }
    await visits.recover();
  }
  return visits.report(clean.operations, visited);
}

/** Of a survivor, the operations that may go wrong. */
const mostRecovery = 60;

/** Two faults: one where the scenario acts, one where the first survivor recovers. Which ones follows from the seed. */
export async function sampleTwoFaults<Scene>(
  scenario: Scenario<Scene>,
  options: EnumerationOptions & { readonly seed: number; readonly samples: number },
): Promise<EnumerationReport> {
  const random = seededRandom(options.seed);
  const pick = (below: number) => Math.floor(random() * below);
  const kinds = options.kinds ?? faultKinds;
  const visits = new Visits(scenario, options);
  const clean = await visits.visit([], []);
  const visited: Record<FaultKind, number> = emptyCounts();
  for (let sample = 0; sample < options.samples && !visits.isOver; sample += 1) {
    const first = { kind: kinds[pick(kinds.length)]!, at: 1 + pick(clean.operations) };
    const second = { kind: kinds[pick(kinds.length)]!, at: 1 + pick(mostRecovery) };
    const { faults } = await visits.visit([first], [second]);
    if (faults > 0) visited[first.kind] += 1;
  }
  await visits.recover();
  return visits.report(clean.operations, visited);
}

/** One line of a report: `claim: 34 operations, 151 places: die-before 34, ...`. */
export function describeReport(report: EnumerationReport): string {
  const parts = faultKinds.map((kind) => `${kind} ${report.visited[kind]}`);
  const all = faultKinds.reduce((sum, kind) => sum + report.visited[kind], 0);
  const broken = report.failures.length === 0 ? '' : `, ${report.failures.length} broken`;
  return `${report.scenario}: ${report.operations} operations, ${all} places visited${broken} (${parts.join(', ')})`;
}

/** What a failure says, with the plan that brings it back. */
export function describeFailure(failure: FaultFailure): string {
  const second =
    failure.recoveryPlan.length === 0 ? '' : `; then ${describePlan(failure.recoveryPlan)}`;
  return `${failure.scenario}, ${describePlan(failure.plan)}${second}: ${failure.message}`;
}

function emptyCounts(): Record<FaultKind, number> {
  return {
    'die-before': 0,
    'die-after': 0,
    'lose-answer': 0,
    'fail-passing': 0,
    'fail-for-good': 0,
  };
}

interface Visit<Scene> {
  readonly plan: FaultPlan;
  readonly recoveryPlan: FaultPlan;
  readonly scene: Scene;
}

/** So many scenes are recovered and audited together. */
const scenesAtOnce = 40;

/** The visits of one scenario. Where something is wrong, the scenes are looked at one by one. */
class Visits<Scene> {
  readonly failures: FaultFailure[] = [];
  readonly #scenario: Scenario<Scene>;
  readonly #options: EnumerationOptions;
  #left: Visit<Scene>[] = [];

  constructor(scenario: Scenario<Scene>, options: EnumerationOptions) {
    this.#scenario = scenario;
    this.#options = options;
  }

  get isOver(): boolean {
    return this.failures.length >= (this.#options.mostFailures ?? 3);
  }

  /** Acts, and is hurt. How many of the faults happened, and how many operations there were. */
  async visit(
    plan: FaultPlan,
    recoveryPlan: FaultPlan,
  ): Promise<Pick<TestProcess, 'faults' | 'operations' | 'writes'>> {
    const scenario = this.#scenario;
    const scene = await scenario.prepare();
    const actor = this.#start(plan);
    const ending = await actor.live((process) => scenario.act(process, scene));
    actor.kill();
    if (plan.length === 0 && ending.how === 'threw') throw ending.error;
    if (recoveryPlan.length > 0) {
      const hurt = this.#start(recoveryPlan);
      await hurt.live((process) => this.#recover(process, [scene]));
      hurt.kill();
    }
    this.#left.push({ plan, recoveryPlan, scene });
    if (scenario.isAlone || this.#left.length >= scenesAtOnce) await this.recover();
    return actor;
  }

  report(operations: number, visited: EnumerationReport['visited']): EnumerationReport {
    return { scenario: this.#scenario.name, operations, visited, failures: this.failures };
  }

  /** The survivors' work, and the judgement. */
  async recover(): Promise<void> {
    const visits = this.#left;
    this.#left = [];
    if (visits.length === 0) return;
    const scenes = visits.map((visit) => visit.scene);
    const survivor = this.#start([]);
    const ending = await survivor.live((process) => this.#recover(process, scenes));
    survivor.kill();
    for (const visit of visits) {
      try {
        if (ending.how === 'threw') throw ending.error;
        await this.#scenario.check?.(visit.scene, [...visit.plan, ...visit.recoveryPlan]);
      } catch (error) {
        this.#fail(visit, error instanceof Error ? error.message : String(error));
      }
    }
    await this.#audit(visits);
  }

  async #recover(process: TestProcess, scenes: readonly Scene[]): Promise<void> {
    for (const scene of scenes) await this.#scenario.askAgain?.(process, scene);
    await this.#scenario.recover(process, scenes);
  }

  async #audit(visits: readonly Visit<Scene>[]): Promise<void> {
    const { connection } = this.#options;
    const ids = (visit: Visit<Scene>) => this.#scenario.dagIds(visit.scene);
    if ((await auditScenes(connection, visits.flatMap(ids))).length === 0) return;
    for (const visit of visits) {
      if (this.isOver) return;
      const violations = await auditScenes(connection, ids(visit));
      if (violations.length > 0) this.#fail(visit, violations.join('; '));
    }
  }

  #start(plan: FaultPlan): TestProcess {
    const { connection, rewrite, speed = 50 } = this.#options;
    return new TestProcess(connection, { plan, speed, ...(rewrite ? { rewrite } : {}) });
  }

  #fail({ plan, recoveryPlan }: Visit<Scene>, message: string): void {
    this.failures.push({ scenario: this.#scenario.name, plan, recoveryPlan, message });
  }
}
