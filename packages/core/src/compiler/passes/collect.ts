import type { AuthoredJob, Stray } from '../../definition/graph.js';
import { idOfClassName } from '../../model/ids.js';
import type { Compilation, Pass } from '../compilation.js';
import type { JobNode } from '../nodes.js';

/** Makes a node of each job and checks the class itself: has it `run`, can it be constructed, do the arguments fit. */
export const collect: Pass = (compilation) => {
  for (const stray of compilation.graph.strays) reportStray(compilation, stray);
  for (const authored of compilation.graph.jobs) {
    const job: JobNode = {
      authored,
      name: authored.name,
      id: idFrom(authored),
      dependencies: [],
      isLinked: true,
      dag: undefined,
      settings: undefined,
    };
    compilation.jobs.push(job);
    checkClass(compilation, job, authored);
  }
};

/** The id that raw options give, else that of the class name; may be illegal. */
export function idFrom({ options, target }: Pick<AuthoredJob, 'options' | 'target'>): string {
  const given = (options as { id?: unknown } | null | undefined)?.id;
  if (typeof given === 'string') return given;
  // `export default class {}` has no name of its own.
  return target.name === 'default' ? '' : idOfClassName(target.name);
}

function checkClass(
  { problems }: Compilation,
  job: JobNode,
  { target, dependencies }: AuthoredJob,
) {
  const run = (target.prototype as { run?: unknown } | undefined)?.run;
  if (typeof run !== 'function') {
    problems.add(job, {
      code: 'run-missing',
      message: 'expected a method run(ctx, ...results), found none',
      hint: 'Write it as a method, not as a field with a function in it.',
    });
  } else if (run.length > 1 + dependencies.length) {
    const count = dependencies.length;
    problems.add(job, {
      code: 'run-parameters',
      message: `expected run to take the context and the results of ${count} dependenc${count === 1 ? 'y' : 'ies'}, found ${run.length} parameters`,
      hint: 'Name the jobs whose results it takes in @DependsOn, in the same order.',
    });
  }
  if (target.length > 0) {
    problems.add(job, {
      code: 'constructor-parameters',
      message: `expected a constructor without required parameters, found ${target.length}`,
      hint: 'A runner constructs a job for each attempt, with no arguments.',
    });
  }
}

function reportStray({ problems }: Compilation, { name, site, reason }: Stray): void {
  if (reason === 'not-decorated') {
    problems.add(
      { name, site },
      {
        code: 'not-decorated',
        message: 'expected a class with @Job or @Dag, found neither',
        hint: 'Decorate the class, or leave it out of what is compiled.',
      },
    );
  } else if (reason === 'without-job') {
    problems.add(
      { name, site },
      {
        code: 'job-missing',
        message: 'expected @Job beside @DependsOn, found none',
        hint: 'Write @Job() above @DependsOn(...).',
      },
    );
  } else {
    problems.add(
      { name, site },
      {
        code: 'dag-and-job',
        message: 'expected a class to be a DAG or a job, found @Dag beside @Job or @DependsOn',
        hint: 'A root job carries the options of its graph itself: move them into @Job.',
      },
    );
  }
}
