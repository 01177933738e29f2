/**
 * The database's clock as this process sees it.
 *
 * Authority: the server. What is kept here, the last reading plus the monotonic time since, narrows index ranges and is
 * shown to people; whatever decides something compares with `$$NOW` on the server. The process's own wall clock is only
 * read to say how far off it is.
 */

export interface ServerClockSources {
  /** Asks the server; resolves to its clock. */
  readonly read: () => Promise<Date>;
  /** Milliseconds that never step. */
  readonly monotonicMs: () => number;
  /** This process's clock, for the offset only. */
  readonly wallMs: () => number;
}

/** This process's clock against the database's. */
export interface ClockMeasurement {
  /** This process's clock minus the database's, in ms. */
  readonly offsetMs: number;
  /** The shortest round trip; the offset is off by at most half of it. */
  readonly roundTripMs: number;
}

/** A reading older than this is refreshed before it narrows a range: the server's clock may have been stepped. */
const maxAgeMs = 10_000;

export class ServerClock {
  readonly #sources: ServerClockSources;
  #serverMs = 0;
  #readAtMs: number | null = null;
  #offsetMs = 0;
  #roundTripMs = 0;

  constructor(sources: ServerClockSources) {
    this.#sources = sources;
  }

  /** One round trip. The reading counts from the middle of it, so that the error is at most half of it. */
  async read(): Promise<Date> {
    const sentMs = this.#sources.monotonicMs();
    const server = await this.#sources.read();
    const receivedMs = this.#sources.monotonicMs();
    this.#roundTripMs = receivedMs - sentMs;
    this.#serverMs = server.getTime() + (receivedMs - sentMs) / 2;
    this.#readAtMs = receivedMs;
    this.#offsetMs = Math.round(this.#sources.wallMs() - this.#serverMs);
    return server;
  }

  /** Several readings; the shortest round trip says it best. */
  async measure(samples = 3): Promise<ClockMeasurement> {
    let best: ClockMeasurement | undefined;
    for (let taken = 0; taken < Math.max(1, samples); taken += 1) {
      await this.read();
      if (best === undefined || this.#roundTripMs < best.roundTripMs) {
        best = { offsetMs: this.#offsetMs, roundTripMs: this.#roundTripMs };
      }
    }
    return best as ClockMeasurement;
  }

  /** The estimate after a reading that is at most so old; ten seconds unless told. */
  async fresh(ageMs = maxAgeMs): Promise<Date> {
    const age = this.#readAtMs === null ? Infinity : this.#sources.monotonicMs() - this.#readAtMs;
    if (age > ageMs) await this.read();
    return this.estimate();
  }

  /** Last reading + monotonic time since. Before the first reading: this process's clock. */
  estimate(): Date {
    if (this.#readAtMs === null) return new Date(this.#sources.wallMs());
    return new Date(Math.round(this.#serverMs + this.#sources.monotonicMs() - this.#readAtMs));
  }

  /** This process's clock minus the server's at the last reading, in ms; 0 before it. */
  get offsetMs(): number {
    return this.#offsetMs;
  }
}

/** How far an estimate may be behind the server: ranges are narrowed to this much later, and `$$NOW` decides. */
export const narrowingSlackMs = 2_000;

/** The upper end of a range that holds everything which is due by the server's clock. */
export async function narrowTo(clock: ServerClock): Promise<Date> {
  return new Date((await clock.fresh()).getTime() + narrowingSlackMs);
}
