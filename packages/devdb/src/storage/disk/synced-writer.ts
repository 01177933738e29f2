import fs from 'node:fs';
import { promisify } from 'node:util';

const fdatasync = promisify(fs.fdatasync);

/** On Linux a write that returns when it is synced: one call instead of two, each of which costs a change of thread. */
const SYNCED_WRITES = process.platform === 'linux';

/** What a file must be opened with to be written to here. */
export const SYNCED_FLAGS = fs.constants.O_RDWR | (SYNCED_WRITES ? fs.constants.O_DSYNC : 0);

/** One call writes at most this much: some systems take no more than 2 GiB. */
const PIECE_BYTES = 64 * 1024 * 1024;

/** More than this is not written in place. */
const IN_PLACE_BYTES = 256 * 1024;

/** How long a write in place may hold the event loop before the disk counts as slow; milliseconds. */
const QUICK_MS = 5;

/** So many writes go to a thread after a slow one before the disk is tried again. */
const WRITES_BESIDE = 30;

/**
 * Writes to a file so that the bytes are on disk when it is done.
 *
 * On a disk that syncs within a fraction of a millisecond two changes of thread cost more than the write itself, and what comes in
 * the meantime could only have waited for the next group. So small writes are made in place, on the thread of the event loop.
 * A slow disk must not hold that: after a write that took too long the next ones go to a thread of the pool.
 */
export class SyncedWriter {
  #beside = 0;

  /** `now` is a monotonic clock in milliseconds. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Whether the next small write is made in place. */
  get isInPlace(): boolean {
    return SYNCED_WRITES && this.#beside === 0;
  }

  /** Writes all of the bytes. Rejects with the system's error; how much of them is on disk is unknown then. */
  async write(file: number, bytes: Uint8Array, position: number): Promise<void> {
    if (bytes.length <= IN_PLACE_BYTES && this.isInPlace) {
      const began = this.now();
      // A full disk may take a part first and refuse the rest afterwards.
      for (let from = 0; from < bytes.length; ) {
        from += fs.writeSync(file, bytes, from, bytes.length - from, position + from);
      }
      if (this.now() - began >= QUICK_MS) this.#beside = WRITES_BESIDE;
      return;
    }
    if (this.#beside > 0) this.#beside -= 1;
    for (let from = 0; from < bytes.length; ) {
      const length = Math.min(bytes.length - from, PIECE_BYTES);
      from += await writeBeside(file, bytes, from, length, position + from);
    }
    if (!SYNCED_WRITES) await fdatasync(file);
  }
}

/** How many bytes were written. */
function writeBeside(
  file: number,
  bytes: Uint8Array,
  from: number,
  length: number,
  position: number,
): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.write(file, bytes, from, length, position, (error, written) => {
      if (error === null) resolve(written);
      else reject(error);
    });
  });
}
