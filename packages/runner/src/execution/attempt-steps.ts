/**
 * `ctx.once` of one attempt: values of finished steps, kept with the task.
 *
 * What earlier attempts have stored is read at the first call. One step runs once in an attempt, however many ask for it
 * at the same time; a step that threw may be tried again. Storing waits for a database that is away; the fence refuses it
 * when the task is not ours any more.
 */
import { OptionError } from '@flowline/core';
import type { Store } from '@flowline/core/internal';
import { type PatienceOptions, patiently } from '../patiently.js';
import type { ActiveAttempt } from './active-attempt.js';

export interface StepEnvironment {
  readonly store: Pick<Store, 'readSteps' | 'saveStep'>;
  readonly runnerId: string;
  readonly patience: PatienceOptions;
}

const longestName = 200;

export class AttemptSteps {
  readonly #attempt: ActiveAttempt;
  readonly #env: StepEnvironment;
  readonly #steps = new Map<string, Promise<unknown>>();
  #stored: Promise<ReadonlyMap<string, unknown>> | undefined;

  constructor(attempt: ActiveAttempt, env: StepEnvironment) {
    this.#attempt = attempt;
    this.#env = env;
  }

  /** See JobContext.once. */
  async once<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    checkName(name);
    let step = this.#steps.get(name);
    if (step === undefined) {
      step = this.#run(name, work);
      this.#steps.set(name, step);
      // What failed has left nothing behind and may be tried again.
      step.catch(() => this.#steps.delete(name));
    }
    return (await step) as T;
  }

  async #run(name: string, work: () => unknown): Promise<unknown> {
    const { store, runnerId, patience } = this.#env;
    const stored = await this.#read();
    if (stored.has(name)) return stored.get(name);
    const value = await work();
    const { taskId, token } = this.#attempt.claim;
    await patiently(() => store.saveStep({ taskId, token }, runnerId, { name, value }), patience);
    return value;
  }

  #read(): Promise<ReadonlyMap<string, unknown>> {
    const { store, runnerId, patience } = this.#env;
    const { taskId, token } = this.#attempt.claim;
    this.#stored ??= patiently(() => store.readSteps({ taskId, token }, runnerId), patience).then(
      (steps) => new Map(steps.map(({ name, value }) => [name, value])),
      (error: unknown) => {
        this.#stored = undefined;
        throw error;
      },
    );
    return this.#stored;
  }
}

function checkName(name: unknown): void {
  const isName =
    typeof name === 'string' &&
    name.length > 0 &&
    name.length <= longestName &&
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    !/[\u0000-\u001f\u007f]/.test(name);
  if (isName) return;
  throw new OptionError(
    'the name of ctx.once',
    `a text of 1 to ${longestName} characters without control characters`,
    name,
  );
}
