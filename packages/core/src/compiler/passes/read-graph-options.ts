import { describeValue } from '../../errors.js';
import type { DagDefinition } from '../../model/definition.js';
import type { Pass } from '../compilation.js';
import {
  type Field,
  member,
  readChoice,
  readDuration,
  readInteger,
  readObject,
  readText,
  report,
} from '../fields.js';
import type { DagNode } from '../nodes.js';
import { dagOptionNames, graphOptionNames, movedDagOptions } from '../option-names.js';
import type { ProblemList } from '../problem-list.js';
import { readExpectWithin } from './read-expect-within.js';
import { readMisfire } from './read-misfire.js';
import { readSchedule } from './read-schedule.js';

const dayMs = 86_400_000;
type GraphOption = (typeof graphOptionNames)[number];
type FieldOf = (name: GraphOption) => Field;

/** Reads the options of each graph from where `placeGraphOptions` found them. */
export const readGraphOptions: Pass = ({ dags, problems }) => {
  for (const dag of dags) readOptions(dag, problems);
};

function readOptions(dag: DagNode, problems: ProblemList): void {
  if (dag.authored !== undefined) {
    const all: Field = { problems, subject: dag, path: '', value: dag.authored.options };
    readObject(all, dagOptionNames, movedDagOptions);
  }
  const at: FieldOf = (name) => {
    const subject = dag.optionPlaces.get(name) ?? dag;
    const options = dag.optionPlaces.has(name) ? subject.authored?.options : {};
    return member({ problems, subject, path: '', value: options }, options as never, name);
  };
  const schedule = readSchedule(at('schedule'));
  const description = readDescription(dag, problems);
  const expectWithin = readExpectWithin(at('expectWithin'));
  dag.settings = {
    ...(description === undefined ? {} : { description }),
    ...(schedule === undefined ? {} : { schedule }),
    misfire: readMisfire(at('misfire'), at('onResume').value === 'all'),
    onResume: readChoice(at('onResume'), ['skip', 'latest', 'all']) ?? 'skip',
    ...readOverlap(at),
    ...(expectWithin === undefined ? {} : { expectWithin }),
    retention: readRetention(at('retention')),
  };
  if (at('schedule').value === undefined) warnWithoutSchedule(at);
}

/** Options about scheduled fires, where nothing is scheduled. */
function warnWithoutSchedule(at: FieldOf): void {
  const isAboutFires = at('overlap').value === 'skip' || at('overlap').value === 'cancel-previous';
  const names = ['misfire', 'onResume', 'maxQueuedRuns'] as const;
  for (const name of isAboutFires ? ([...names, 'overlap'] as const) : names) {
    if (at(name).value === undefined) continue;
    report(
      at(name),
      'option-without-effect',
      `expected a schedule beside ${name}, found none`,
      'It is about scheduled fires only: add a schedule, or remove it.',
    );
  }
}

function readDescription(dag: DagNode, problems: ProblemList): string | undefined {
  const root = dag.jobs.find((job) => job.authored.dependencies.length === 0);
  const authored = dag.authored ?? root?.authored;
  const value = (authored?.options as { description?: unknown } | null | undefined)?.description;
  // A root's description is read, and reported, among the job's options.
  if (dag.authored === undefined) return typeof value === 'string' ? value : undefined;
  return readText({ problems, subject: dag, path: 'description', value });
}

function readOverlap(
  at: FieldOf,
): Pick<DagDefinition, 'overlap' | 'maxActiveRuns' | 'maxQueuedRuns'> {
  const overlap = readChoice(at('overlap'), ['queue', 'skip', 'cancel-previous', 'allow']);
  const maxActiveRuns = readInteger(at('maxActiveRuns'), 1, 1_000);
  const maxQueuedRuns = readInteger(at('maxQueuedRuns'), 0, 100_000);
  const clash = (name: GraphOption, reason: string): void =>
    report(
      at(name),
      'option-clash',
      `expected no ${name} beside overlap: '${overlap}', found ${describeValue(at(name).value)}`,
      reason,
    );
  if (overlap === 'allow' && at('maxActiveRuns').value !== undefined) {
    clash('maxActiveRuns', "With 'allow' runs take no place; write overlap: 'queue' for a limit.");
  }
  if (overlap !== undefined && overlap !== 'queue' && at('maxQueuedRuns').value !== undefined) {
    clash('maxQueuedRuns', "Only overlap: 'queue' lets scheduled fires wait.");
  }
  return {
    overlap: overlap ?? 'queue',
    maxActiveRuns: maxActiveRuns ?? 1,
    maxQueuedRuns: maxQueuedRuns ?? 100,
  };
}

function readRetention(field: Field): DagDefinition['retention'] {
  const retention = readObject(field, ['runs', 'logs']) ?? {};
  const runsMs = readDuration(member(field, retention, 'runs'), { minMs: 1_000 });
  const logsMs = readDuration(member(field, retention, 'logs'), { minMs: 1_000 });
  return { runsMs: runsMs ?? 30 * dayMs, logsMs: logsMs ?? 7 * dayMs };
}
