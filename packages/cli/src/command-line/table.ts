/** The commands of `flow`, in the order of its help: one line and one file each. */
import type { CommandEntry, CommandGroup } from './command.js';

export const commandTable: readonly (CommandEntry | CommandGroup)[] = [
  {
    name: 'init',
    summary: 'write a config and a first job that runs',
    load: () => import('../commands/init.js'),
  },
  {
    name: 'compile',
    summary: 'check the jobs and print their graph',
    load: () => import('../commands/compile.js'),
  },
  {
    name: 'deploy',
    summary: 'show what changes, and store it',
    load: () => import('../commands/deploy.js'),
  },
  { name: 'dags', summary: 'what is deployed', load: () => import('../commands/dags.js') },
  {
    name: 'show',
    summary: 'one DAG or one run, closely',
    load: () => import('../commands/show.js'),
  },
  {
    name: 'next',
    summary: 'the coming fires of a DAG or a cron expression',
    load: () => import('../commands/next.js'),
  },
  {
    name: 'fires',
    summary: 'fires that did not become a run, and why',
    load: () => import('../commands/fires.js'),
  },
  {
    name: 'run',
    summary: 'one run now, or a backfill of the past',
    load: () => import('../commands/run.js'),
  },
  {
    name: 'backfill',
    summary: 'list, watch, pause, resume and cancel backfills',
    commands: [
      {
        name: 'ls',
        summary: 'all backfills, newest first',
        load: () => import('../commands/backfill-ls.js'),
      },
      {
        name: 'show',
        summary: 'one backfill and its progress',
        load: () => import('../commands/backfill-show.js'),
      },
      {
        name: 'pause',
        summary: 'create no further runs for now',
        load: () => import('../commands/backfill-pause.js'),
      },
      {
        name: 'resume',
        summary: 'go on after a pause',
        load: () => import('../commands/backfill-resume.js'),
      },
      {
        name: 'cancel',
        summary: 'create no further runs',
        load: () => import('../commands/backfill-cancel.js'),
      },
    ],
  },
  { name: 'runs', summary: 'the history of runs', load: () => import('../commands/runs.js') },
  {
    name: 'logs',
    summary: 'what the jobs of a run have logged',
    load: () => import('../commands/logs.js'),
  },
  {
    name: 'why',
    summary: 'what a run and its tasks are waiting for',
    load: () => import('../commands/why.js'),
  },
  {
    name: 'retry',
    summary: 'run what failed in a run again',
    load: () => import('../commands/retry.js'),
  },
  { name: 'cancel', summary: 'cancel a run', load: () => import('../commands/cancel.js') },
  {
    name: 'pause',
    summary: 'stop the schedule of a DAG',
    load: () => import('../commands/pause.js'),
  },
  {
    name: 'resume',
    summary: 'start the schedule of a DAG again',
    load: () => import('../commands/resume.js'),
  },
  { name: 'runner', summary: 'a runner process', load: () => import('../commands/runner.js') },
  {
    name: 'dev',
    summary: 'database, deploy on change and runner in one process',
    load: () => import('../commands/dev.js'),
  },
  {
    name: 'doctor',
    summary: 'what is wrong with the database, the runners or the work',
    load: () => import('../commands/doctor.js'),
  },
  {
    name: 'db',
    summary: 'the embedded development database by hand',
    commands: [
      {
        name: 'start',
        summary: 'start it, or find it running',
        load: () => import('../commands/db-start.js'),
      },
      {
        name: 'status',
        summary: 'whether it runs, and where',
        load: () => import('../commands/db-status.js'),
      },
      { name: 'stop', summary: 'stop it', load: () => import('../commands/db-stop.js') },
    ],
  },
  {
    name: 'completion',
    summary: 'a completion script for your shell',
    load: () => import('../commands/completion.js'),
  },
];
