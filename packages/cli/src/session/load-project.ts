import { type CompiledDag, compile, type Problem } from '@flowline/core';
import type { CommandContext, GlobalFlags } from '../command-line/command.js';
import type { Settings } from '../config/resolve-settings.js';
import { loadJobs } from '../loading/load-jobs.js';
import { settingsOf } from './settings-of.js';

/** A project's jobs, loaded and compiled. */
export interface Project {
  readonly settings: Settings;
  readonly classes: readonly object[];
  readonly files: readonly string[];
  readonly dags: readonly CompiledDag[];
  /** Of loading and of compiling, warnings too: the same for the same code on any day. */
  readonly problems: readonly Problem[];
  /** Schedules that meet a change of clocks within two years, or are over: these depend on the day. */
  readonly dayWarnings: readonly Problem[];
  readonly hasErrors: boolean;
}

/** Finds the config, loads the job files (or those under `paths`) and compiles them. */
export async function loadProject(
  flags: GlobalFlags,
  paths: readonly string[] | undefined,
  context: Pick<CommandContext, 'cwd' | 'env' | 'terminal'>,
): Promise<Project> {
  const { cwd } = context;
  const settings = await settingsOf(flags, context);
  const loaded = await loadJobs({
    cwd,
    root: settings.root,
    jobs: settings.jobs,
    paths,
    configFile: settings.configFile,
  });
  const compiled = compile(loaded.classes, { at: new Date() });
  const isOfTheDay = ({ code }: Problem) =>
    code === 'schedule-clock-change' || code === 'schedule-over';
  const problems = [
    ...loaded.problems,
    ...compiled.problems.filter((problem) => !isOfTheDay(problem)),
  ];
  return {
    settings,
    classes: loaded.classes,
    files: loaded.files,
    dags: compiled.dags,
    problems,
    dayWarnings: compiled.problems.filter(isOfTheDay),
    hasErrors: problems.some(({ severity }) => severity === 'error'),
  };
}
