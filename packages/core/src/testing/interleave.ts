import type { SharedConnection } from '../store/shared-connection.js';
import { auditScenes } from './audit-scenes.js';
import { Interleaving } from './interleaving.js';
import { type OperationRewriter, TestProcess } from './test-process.js';

/** What several processes do at once. */
export interface Encounter<Scene> {
  readonly name: string;
  /** A new scene for each seed, with DAGs of its own. `order.pick` makes choices that follow from the seed. */
  prepare(order: Interleaving): Promise<Scene>;
  /** What each does, by its name. An error of one of them is a failure. */
  actors(
    scene: Scene,
    order: Interleaving,
  ): Readonly<Record<string, (process: TestProcess) => Promise<unknown>>>;
  /** Afterwards, undisturbed: until nothing is left to do. */
  recover(process: TestProcess, scenes: readonly Scene[]): Promise<unknown>;
  /** Throws where something is not as it must be. */
  check?(scene: Scene): Promise<void>;
  dagIds(scene: Scene): readonly string[];
}

export interface InterleaveOptions {
  readonly connection: SharedConnection;
  /** The first seed, and how many. */
  readonly firstSeed?: number;
  readonly seeds: number;
  readonly rewrite?: OperationRewriter;
  /** It ends after so many failures. Default 1. */
  readonly mostFailures?: number;
}

export interface SeedFailure {
  readonly encounter: string;
  /** Run this seed alone and the same happens. */
  readonly seed: number;
  readonly message: string;
  readonly trace: readonly string[];
}

export interface InterleaveReport {
  readonly encounter: string;
  readonly seeds: number;
  /** Operations that were put in order, of all seeds. */
  readonly steps: number;
  readonly failures: readonly SeedFailure[];
}

/** So many scenes are recovered and audited together. */
const scenesAtOnce = 40;

interface Played<Scene> {
  readonly seed: number;
  readonly scene: Scene;
  readonly trace: readonly string[];
}

/** Plays an encounter once for each seed, and asks every invariant of what came of it. */
export async function interleave<Scene>(
  encounter: Encounter<Scene>,
  options: InterleaveOptions,
): Promise<InterleaveReport> {
  const { connection, rewrite, firstSeed = 1, mostFailures = 1 } = options;
  const failures: SeedFailure[] = [];
  const fail = ({ seed, trace }: Played<Scene>, message: string) =>
    failures.push({ encounter: encounter.name, seed, message, trace });
  let steps = 0;
  let played: Played<Scene>[] = [];
  const judge = async () => {
    const scenes = played;
    played = [];
    if (scenes.length > 0) await judgeScenes(encounter, scenes, options, fail);
  };
  let seed = firstSeed;
  for (; seed < firstSeed + options.seeds && failures.length < mostFailures; seed += 1) {
    const order = new Interleaving(seed);
    const scene = await encounter.prepare(order);
    const one = { seed, scene, trace: order.trace };
    try {
      const actors = Object.entries(encounter.actors(scene, order)).map(([name, act]) => {
        const process = order.process(name, connection, rewrite);
        return [name, () => act(process)] as const;
      });
      await order.run(Object.fromEntries(actors));
    } catch (error) {
      fail(one, messageOf(error));
    }
    played.push(one);
    steps += order.trace.length;
    if (played.length >= scenesAtOnce) await judge();
  }
  await judge();
  return { encounter: encounter.name, seeds: seed - firstSeed, steps, failures };
}

/** The survivors' work, and what is wrong after it; one by one where something is. */
async function judgeScenes<Scene>(
  encounter: Encounter<Scene>,
  played: readonly Played<Scene>[],
  { connection, rewrite }: InterleaveOptions,
  fail: (one: Played<Scene>, message: string) => void,
): Promise<void> {
  const survivor = new TestProcess(connection, { speed: 50, ...(rewrite ? { rewrite } : {}) });
  const all = played.map((one) => one.scene);
  const ending = await survivor.live((process) => encounter.recover(process, all));
  survivor.kill();
  for (const one of played) {
    try {
      if (ending.how === 'threw') throw ending.error;
      await encounter.check?.(one.scene);
    } catch (error) {
      fail(one, messageOf(error));
    }
  }
  const ids = (one: Played<Scene>) => encounter.dagIds(one.scene);
  if ((await auditScenes(connection, played.flatMap(ids))).length === 0) return;
  for (const one of played) {
    const violations = await auditScenes(connection, ids(one));
    if (violations.length > 0) fail(one, violations.join('; '));
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** One line of a report: `two leaders: 300 seeds, 9,120 operations in order`. */
export function describeEncounter(report: InterleaveReport): string {
  const broken = report.failures.length === 0 ? '' : `, ${report.failures.length} broken`;
  return `${report.encounter}: ${report.seeds} seeds, ${report.steps} operations in order${broken}`;
}

/** What a failure says, with its seed and who was let through. */
export function describeSeedFailure(failure: SeedFailure): string {
  return `${failure.encounter}, seed ${failure.seed}: ${failure.message}\n${failure.trace.join('\n')}`;
}
