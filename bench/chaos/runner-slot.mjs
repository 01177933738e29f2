/** One place in the fleet: a `flow runner` process that is killed, stopped, drained and started again. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const binary = fileURLToPath(new URL('../../packages/cli/bin/flow.js', import.meta.url));
const here = fileURLToPath(new URL('.', import.meta.url));
const preload = (name) => ['--import', new URL(`preload/${name}.mjs`, import.meta.url).href];

/** All processes of one machine share this clock; the journal is written by it too. */
export const monotonicMs = () => Number(process.hrtime.bigint() / 1_000n) / 1_000;

/** How much of what a runner says is kept for a report. */
const keptCharacters = 20_000;

export class RunnerSlot {
  /**
   * @param {number} number
   * @param {{ env: NodeJS.ProcessEnv, args: readonly string[], host: string | null, clockOffsetMs: number,
   *   proxy: import('./tcp-proxy.mjs').TcpProxy | null }} traits
   */
  constructor(number, traits) {
    this.number = number;
    this.traits = traits;
    this.child = null;
    this.pid = 0;
    /** When the process was started, by the clock of the journal. */
    this.since = 0;
    /** The id of its runner; null until it is at work. */
    this.runnerId = null;
    this.isStopped = false;
    /** True from when it has said that it is at work. */
    this.isServing = false;
    /** What is done to it just now; only one thing at a time. */
    this.busy = null;
    this.output = '';
    this.exits = [];
  }

  get isAlive() {
    return this.child !== null;
  }

  /** What it is, for people. */
  get name() {
    const { host, clockOffsetMs, proxy } = this.traits;
    const traits = [
      ...(host === null ? [] : [`on ${host}`]),
      ...(clockOffsetMs === 0
        ? []
        : [`clock ${clockOffsetMs > 0 ? '+' : ''}${clockOffsetMs / 60_000} min`]),
      ...(proxy === null ? [] : ['behind a proxy']),
    ];
    return `runner ${this.number}${traits.length === 0 ? '' : ` (${traits.join(', ')})`}`;
  }

  /** Starts a process; `ended` resolves when it is gone. */
  start() {
    const { env, args, host, clockOffsetMs } = this.traits;
    const child = spawn(
      process.execPath,
      [
        ...(clockOffsetMs === 0 ? [] : preload('skewed-clock')),
        ...(host === null ? [] : preload('other-host')),
        binary,
        'runner',
        ...args,
      ],
      {
        cwd: here,
        env: {
          ...env,
          CLOCK_OFFSET_MS: String(clockOffsetMs),
          ...(host === null ? {} : { OTHER_HOST: host }),
        },
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      },
    );
    this.child = child;
    this.pid = child.pid;
    this.since = monotonicMs();
    this.runnerId = null;
    this.isStopped = false;
    const keep = (piece) => {
      this.output = (this.output + piece).slice(-keptCharacters);
    };
    keep(`--- pid ${child.pid}\n`);
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.once('exit', () => {
      this.child = null;
      this.isServing = false;
    });
    // Its pipes may hold more; the end is when they are closed.
    this.ended = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.exits.push({ pid: child.pid, code, signal });
        resolve({ code, signal });
      });
    });
    const started = new Promise((resolve) => {
      child.on('message', (message) => {
        if (message.type !== 'started') return;
        this.isServing = true;
        this.runnerId = message.runner;
        resolve(message.runner);
      });
    });
    // One that ends before is told of by its exit.
    this.started = Promise.race([started, this.ended]);
  }

  /** @param {NodeJS.Signals} signal */
  signal(signal) {
    this.child?.kill(signal);
    if (signal === 'SIGSTOP') this.isStopped = true;
    if (signal === 'SIGCONT') this.isStopped = false;
  }
}
