import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectStore, type Store } from '@flowline/core/internal';
import { connectEmbedded, stopEmbedded } from '@flowline/devdb';
import { MongoClient } from 'mongodb';
import { flowHere } from './flow-in-process.ts';

const binary = fileURLToPath(new URL('../../packages/cli/bin/flow.js', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A `flow` process that is still running. */
export interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  /** The runner's id, for `flow runner`: after it has said that it is at work. */
  readonly started: Promise<string>;
  readonly ended: Promise<Ended>;
  output(): string;
}

export interface SpawnOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Arguments of node, before the script. */
  readonly node?: readonly string[];
}

/** The built `flow` command in a project, on a database of its own; everything is gone after close(). */
export interface FlowSandbox {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** A folder for files that tests and jobs leave each other: TEST_SIGNALS. */
  readonly signals: string;
  flow(
    args: readonly string[],
    options?: { cwd?: string; env?: NodeJS.ProcessEnv },
  ): Promise<Ended>;
  /** stdout of a command that must end with 0, as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: each command prints a shape of its own
  json(args: readonly string[]): Promise<any>;
  spawn(args: readonly string[], options?: SpawnOptions): Running;
  /** stdout of a command run in this process, as JSON: a second quicker than {@link json}. */
  // biome-ignore lint/suspicious/noExplicitAny: each command prints a shape of its own
  here(args: readonly string[]): Promise<any>;
  /** A store on the same database. */
  store(): Promise<Store>;
  allow(name: string): void;
  events(): string[];
  close(): Promise<void>;
}

/**
 * Opens a sandbox in `cwd`: on the server at `uri`, else on FLOW_TEST_MONGODB_URI when set, else on an embedded database in a
 * temporary folder. On a server it has a database of its own.
 */
export async function openFlow(
  cwd: string,
  { uri = process.env.FLOW_TEST_MONGODB_URI }: { readonly uri?: string } = {},
): Promise<FlowSandbox> {
  const signals = mkdtempSync(join(tmpdir(), 'flow-test-'));
  const dataDir = join(signals, 'data');
  const database = `flow_test_${randomBytes(6).toString('hex')}`;
  const env: NodeJS.ProcessEnv = { ...process.env, TEST_SIGNALS: signals, NO_COLOR: '1', CI: '1' };
  for (const name of ['FLOW_MONGODB_URI', 'FLOW_DATABASE', 'FLOW_DATA_DIR', 'FLOW_LOG_LEVEL'])
    delete env[name];
  if (uri === undefined) env.FLOW_DATA_DIR = dataDir;
  else Object.assign(env, { FLOW_MONGODB_URI: uri, FLOW_DATABASE: database });
  const running = new Set<Running>();
  const stores: Store[] = [];
  const closers: (() => Promise<void>)[] = [];

  function start(args: readonly string[], options: SpawnOptions & { cwd?: string } = {}): Running {
    const child = spawn(process.execPath, [...(options.node ?? []), binary, ...args], {
      cwd: options.cwd ?? cwd,
      env: { ...env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout?.on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr?.on('data', (chunk) => {
      stderr += chunk;
    });
    const ended = new Promise<Ended>((resolve) => {
      child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
    });
    const started = new Promise<string>((resolve, reject) => {
      child.on('message', (message: { type?: string; runner?: string }) => {
        if (message.type === 'started') resolve(message.runner as string);
      });
      void ended.then((end) =>
        reject(new Error(`flow ${args.join(' ')} ended: ${JSON.stringify(end)}`)),
      );
    });
    started.catch(() => {});
    const one: Running = {
      child,
      pid: child.pid as number,
      started,
      ended,
      output: () => stdout + stderr,
    };
    running.add(one);
    void ended.then(() => running.delete(one));
    return one;
  }

  return {
    cwd,
    env,
    signals,
    spawn: start,
    flow: (args, options) => start(args, options).ended,
    async json(args) {
      const end = await start([...args, '--json']).ended;
      if (end.code !== 0)
        throw new Error(`flow ${args.join(' ')} ended with ${end.code}: ${end.stderr}`);
      return JSON.parse(end.stdout);
    },
    async here(args) {
      const { code, stdout, stderr } = await flowHere([...args, '--json'], { cwd, env });
      if (code !== 0) throw new Error(`flow ${args.join(' ')} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout);
    },
    async store() {
      let connection = { uri: uri as string, database };
      if (uri === undefined) {
        const embedded = await connectEmbedded(dataDir);
        closers.push(() => embedded.close());
        connection = { uri: embedded.uri, database: 'flowline' };
      }
      const store = await connectStore(connection);
      await store.prepare();
      stores.push(store);
      return store;
    },
    allow: (name) => writeFileSync(join(signals, name), ''),
    events() {
      const file = join(signals, 'events');
      return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    },
    async close() {
      for (const { child } of running) {
        child.kill('SIGCONT');
        child.kill('SIGKILL');
      }
      await Promise.all([...running].map(({ ended }) => ended));
      for (const store of stores) await store.close();
      for (const close of closers) await close();
      if (uri === undefined) await stopEmbedded(dataDir);
      else {
        const client = new MongoClient(uri, { serverSelectionTimeoutMS: 5_000 });
        await client.db(database).dropDatabase();
        await client.close();
      }
      rmSync(signals, { recursive: true, force: true });
    },
  };
}
