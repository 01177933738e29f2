/**
 * What a real deployment does to its clients now and then, and a server on one thread never does by itself: for our own tests.
 * Everything is drawn from one seed, so that the same commands in the same order meet the same mishaps.
 */
export interface AdversaryOptions {
  readonly seed: number;
  /** How often a statement of a transaction fails with 112 WriteConflict; 0 to 1, default 0. */
  readonly writeConflicts?: number;
  /** How often a connection is closed before a command is run; 0 to 1, default 0. */
  readonly droppedConnections?: number;
  /** How often a command is run and its answer lost with the connection; 0 to 1, default 0. */
  readonly lostReplies?: number;
  /** Commands and commits take up to so many milliseconds longer; default 0. */
  readonly maxDelayMs?: number;
  /** Whether an upsert lets others in between its search and its insert, so that one of two gets E11000. */
  readonly racingUpserts?: boolean;
}

/** Commands that find and keep the connection: without them a driver gives up the whole server. */
const SPARED: ReadonlySet<string> = new Set([
  'hello',
  'isMaster',
  'ping',
  'endSessions',
  'configureFailPoint',
]);

/** Decides the mishaps of one server. */
export class Adversary {
  readonly #options: AdversaryOptions;
  #state: number;

  constructor(options: AdversaryOptions) {
    this.#options = options;
    this.#state = options.seed | 0;
  }

  dropsConnection(command: string): boolean {
    return !SPARED.has(command) && this.#happens(this.#options.droppedConnections);
  }

  losesReply(command: string): boolean {
    return !SPARED.has(command) && this.#happens(this.#options.lostReplies);
  }

  conflicts(): boolean {
    return this.#happens(this.#options.writeConflicts);
  }

  get racesUpserts(): boolean {
    return this.#options.racingUpserts === true;
  }

  /** Waits a random time. */
  delay(): Promise<void> {
    const ms = Math.floor(this.#random() * ((this.#options.maxDelayMs ?? 0) + 1));
    return new Promise((resolve) => (ms === 0 ? setImmediate(resolve) : setTimeout(resolve, ms)));
  }

  #happens(rate = 0): boolean {
    return rate > 0 && this.#random() < rate;
  }

  /** From 0 to 1 (mulberry32). */
  #random(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
}
