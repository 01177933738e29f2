/**
 * The loop of a runner that may lead: keep leadership, then the duties. A duty that fails is reported and does not
 * keep the later ones from running. Only a database that is away makes the loop wait: what fails for one DAG is no reason to
 * look at the others later. Nor does one that takes so long that leadership is lost in it: the next tick begins
 * with those that were not reached, or a slow leader would do the first ones for ever.
 */
import type { FreshTask, Store } from '@flowline/core/internal';
import type { RunnerEmitter } from '../events.js';
import { Loop, type LoopPulse } from '../loop.js';
import type { RunnerSettings } from '../options.js';
import { Announcer } from './announcer.js';
import { Complaints, isOutage } from './complaints.js';
import {
  type Duty,
  type DutyEnvironment,
  duties,
  type Rounds,
  rescue,
  settleDue,
} from './duties.js';
import { LeadershipHolder } from './leadership.js';

const longestTickMs = 1_000;

/** What failed is still due: without a pause the loop would do nothing but try it. */
const pauseAfterFailureMs = 100;

/** How often a candidate looks at what it would have to do, so that deploys find it ready too. */
const rehearsalMs = 30_000;
const dagsPerRehearsal = 50;

export interface SchedulerOptions {
  readonly store: Store;
  readonly runnerId: string;
  readonly settings: RunnerSettings;
  readonly events: RunnerEmitter;
  readonly onReady: (tasks?: readonly FreshTask[]) => void;
  /** The loop has ended for good without being stopped. */
  readonly onDeath: (error: unknown) => void;
}

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #leadership: LeadershipHolder;
  readonly #loop: Loop;
  readonly #lastRun = new Map<string, number>();
  readonly #announcer: Announcer;
  readonly #rounds: Rounds = { admission: undefined };
  readonly #complaints: Complaints;
  #rehearsedAt = Number.NEGATIVE_INFINITY;
  /** Which duty comes first. */
  #first = 0;
  /** The next fire, if it lay ahead when it was asked for; null: none did; undefined: it was not asked for yet. */
  #coming: Date | null | undefined;
  /** A fire was due still after it had been tried. */
  #isOverdue = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { store, runnerId, settings, events } = options;
    this.#leadership = new LeadershipHolder({
      store,
      runnerId,
      leaseMs: settings.leadershipMs,
      clock: settings.clock,
      onWon: (epoch) => {
        settings.log('info', 'this runner leads now', { epoch });
        events.emit('leader-won', epoch);
      },
      onLost: (reason) => {
        settings.log(reason === 'released' ? 'info' : 'warn', `leadership ended: ${reason}`);
        events.emit('leader-lost', reason);
      },
    });
    this.#announcer = new Announcer({ store, settings, events });
    this.#complaints = new Complaints(() => settings.clock.monotonicMs());
    this.#loop = new Loop({
      name: 'schedule',
      clock: settings.clock,
      random: settings.random,
      turn: () => this.#turn(),
      onError: (error, failures, retryInMs) => {
        settings.log('warn', 'a tick of the scheduler failed', { error, failures, retryInMs });
        events.emit('failed', 'schedule', error);
      },
      onDeath: options.onDeath,
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Something may be due earlier than was known. */
  wake(): void {
    this.#loop.wake();
  }

  get pulse(): LoopPulse {
    return this.#loop.pulse;
  }

  get isLeading(): boolean {
    return this.#leadership.isLeading();
  }

  /** Ends the loop and gives leadership back. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#leadership.release();
  }

  async #turn(): Promise<number> {
    const { settings, events } = this.#options;
    if (!(await this.#leadership.keep())) {
      await this.#rehearse();
      return settings.leadershipMs / 4;
    }
    const { more, hasFailed } = await this.#runDuties();
    events.emit('ticked');
    const waitMs = more ? 0 : await this.#untilNextFire();
    return hasFailed ? Math.max(waitMs, pauseAfterFailureMs) : waitMs;
  }

  /** A candidate keeps itself ready to lead. */
  async #rehearse(): Promise<void> {
    const { store, settings } = this.#options;
    const now = settings.clock.monotonicMs();
    if (now - this.#rehearsedAt < rehearsalMs) return;
    this.#rehearsedAt = now;
    await this.#unlessOutage('rehearse', store.rehearseSettling(dagsPerRehearsal));
  }

  /** What merely saves time may fail: the duty itself comes, and tells what is wrong. */
  async #unlessOutage(what: string, doing: Promise<void>): Promise<void> {
    try {
      await doing;
    } catch (error) {
      if (isOutage(error)) throw error;
      this.#options.settings.log('debug', `could not ${what} due schedules`, { error });
    }
  }

  async #runDuties(): Promise<{ readonly more: boolean; readonly hasFailed: boolean }> {
    const { store, settings, events, onReady } = this.#options;
    let more = false;
    let hasFailed = false;
    let outage: unknown;
    const fail = (what: string, subject: string, error: unknown) => {
      hasFailed = true;
      if (isOutage(error)) {
        outage ??= error;
        settings.log('warn', `the leader could not ${what}`, { error });
        return;
      }
      const news = this.#complaints.note(what, subject, error);
      if (news === null) return;
      const of = subject === '' ? '' : ` (${subject})`;
      const again = news.times === 0 ? '' : `, ${news.times} times since this was told last`;
      settings.log('warn', `the leader could not ${what}${of}${again}`, { error });
      events.emit('failed', 'schedule', error);
    };
    const env: DutyEnvironment = {
      store,
      settings,
      events,
      onReady,
      announcer: this.#announcer,
      rounds: this.#rounds,
      fail,
      isLeading: () => this.#leadership.isLeading(),
    };
    /** False when this runner does not lead any more. */
    const perform = async (duty: Duty, everyMs = duty.everyMs): Promise<boolean> => {
      const now = settings.clock.monotonicMs();
      const last = this.#lastRun.get(duty.name) ?? Number.NEGATIVE_INFINITY;
      if (now - last < everyMs) return true;
      if (!(await this.#leadership.keep())) return false;
      this.#lastRun.set(duty.name, now);
      try {
        if (await duty.run(env)) more = true;
      } catch (error) {
        fail(duty.name, '', error);
      }
      return true;
    };
    const first = this.#first;
    this.#first = 0;
    this.#coming = undefined;
    for (let done = 0; done < duties.length; done += 1) {
      const at = (first + done) % duties.length;
      if (this.#isComing()) {
        this.#coming = undefined;
        if (!(await perform(settleDue))) {
          this.#first = at;
          break;
        }
      }
      // Lateness of fires counts in milliseconds: a rescue whose time has just come waits for them, one that is late does not.
      const rescueMs = at === 0 ? 2 * rescue.everyMs : rescue.everyMs;
      if (!(await perform(rescue, rescueMs)) || !(await perform(duties[at] as Duty))) {
        this.#first = at;
        break;
      }
      if (at !== 0 || more) continue;
      try {
        await this.#lookAhead();
      } catch (error) {
        fail('look for the next fire', '', error);
      }
    }
    if (outage !== undefined) throw outage;
    return { more, hasFailed };
  }

  /** True when a fire that lay ahead has come due while other duties were done: it waits for no more than one of them. */
  #isComing(): boolean {
    const now = this.#options.store.estimateServerTime();
    return this.#coming !== undefined && this.#coming !== null && this.#coming <= now;
  }

  /** Learns which fire comes next and, when it is near, what it will be. */
  async #lookAhead(): Promise<void> {
    const { store } = this.#options;
    const next = await store.earliestFireAt();
    const untilMs = next === null ? null : next.getTime() - store.estimateServerTime().getTime();
    // One that is due already was just tried: it does not come, it stays.
    this.#coming = untilMs !== null && untilMs > 0 ? next : null;
    this.#isOverdue = untilMs !== null && untilMs <= 0;
    if (next !== null && untilMs! < this.#longestMs)
      await this.#unlessOutage('foresee', store.foresee(next));
  }

  /** Leadership is renewed by this loop: it must come round well before the lease is over. */
  get #longestMs(): number {
    return Math.min(longestTickMs, this.#options.settings.leadershipMs / 4);
  }

  /** So that a fire is acted on when it is due and not at the next tick. */
  async #untilNextFire(): Promise<number> {
    if (this.#leadership.isLeading()) await this.#leadership.keep(this.#longestMs);
    if (this.#coming === undefined) await this.#lookAhead();
    if (this.#isOverdue) return 1;
    const coming = this.#coming ?? null;
    if (coming === null) return this.#longestMs;
    const untilMs = coming.getTime() - this.#options.store.estimateServerTime().getTime();
    // The database decides that it is due; being a moment early only means looking again.
    return Math.min(this.#longestMs, Math.max(untilMs + 1, 1));
  }
}
