/**
 * Telling about expectations that were not met: the event of the runner, then its hook, then the mark in the record.
 *
 * Authority: `announced` of the record. The mark comes last, so a leader that dies before it leaves the record to be told again
 * by the next one: at least once told, exactly once recorded. Hooks run beside the loop, which renews leadership and must not
 * wait for anybody's mail server; a record that is being told is not told again meanwhile.
 */
import type { MissedExpectation } from '@flowline/core';
import type { Store } from '@flowline/core/internal';
import type { RunnerEmitter } from '../events.js';
import type { RunnerSettings } from '../options.js';

const mostTries = 3;

export interface AnnouncerOptions {
  readonly store: Pick<Store, 'markAnnounced'>;
  readonly settings: Pick<RunnerSettings, 'log' | 'onExpectationMissed'>;
  readonly events: RunnerEmitter;
}

export class Announcer {
  readonly #options: AnnouncerOptions;
  /** By record: how often it was tried, and whether it is being told right now. */
  readonly #told = new Map<string, { tries: number; isUnderway: boolean }>();

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  /** Tells about those that are not being told already. Returns at once; never throws. */
  tell(missed: readonly MissedExpectation[]): void {
    for (const one of missed) {
      const told = this.#told.get(one.id) ?? { tries: 0, isUnderway: false };
      if (told.isUnderway) continue;
      told.isUnderway = true;
      told.tries += 1;
      this.#told.set(one.id, told);
      void this.#tell(one, told.tries).then((isOver) => {
        told.isUnderway = false;
        if (isOver) this.#told.delete(one.id);
      });
    }
  }

  /** True when nothing is left to do for it. */
  async #tell(missed: MissedExpectation, tries: number): Promise<boolean> {
    const { store, settings, events } = this.#options;
    try {
      if (tries === 1) {
        settings.log('warn', inWords(missed), { missed });
        events.emit('expectation-missed', missed);
      }
      await settings.onExpectationMissed?.(missed);
    } catch (error) {
      settings.log('warn', `the hook for missed expectations failed (${missed.id})`, { error });
      if (tries < mostTries) return false;
    }
    try {
      await store.markAnnounced(missed.id);
      return true;
    } catch (error) {
      settings.log('debug', `${missed.id} will be told again`, { error });
      return false;
    }
  }
}

/** `nightly-sales did not start by 2026-03-08T07:40:00.000Z (run 01k...)` */
function inWords({ dagId, kind, runId, expectedBy, count }: MissedExpectation): string {
  const what = { start: 'start', finish: 'finish', duration: 'end' }[kind];
  const which =
    runId === null ? `${count} fire${count === 1 ? '' : 's'} that never ran` : `run ${runId}`;
  return `${dagId} did not ${what} by ${expectedBy.toISOString()} (${which})`;
}
