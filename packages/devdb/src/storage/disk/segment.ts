/**
 * Files of the log. A segment is named by the sequence number of its first frame and begins with a header:
 *
 *   checksum u32 | "FLOWLOG\x01" | id of the log, 16 bytes | sequence number of the first frame f64
 *
 * It comes under its name whole: header written and synced under another name, renamed, the directory synced. So a
 * segment with a broken header was never made by this program, and a frame that is synced can be found.
 *
 * Behind its frames a segment has zeros, into which the next ones are written: a sync that does not make the file longer costs
 * the file system less. They are laid before a frame that would come to their end is written.
 */
import fs from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { SYNCED_FLAGS, type SyncedWriter } from './synced-writer.js';

/** What stands before a segment's first frame. */
export const SEGMENT_HEADER_BYTES = 36;

/** So many zeros are laid at a time. */
const ZEROS_BYTES = 256 * 1024;

const MAGIC = Buffer.from('FLOWLOG\x01', 'latin1');
const MAGIC_AT = 4;
const ID_AT = 12;
const FIRST_AT = 28;

const NAME = /^log-(\d{16})$/;
const UNFINISHED = /^log-\d{16}\.new$/;

/** A segment in a directory. */
export interface SegmentName {
  readonly first: number;
  readonly path: string;
}

/** The segments of a directory in their order. */
export function findSegments(directory: string): SegmentName[] {
  const found: SegmentName[] = [];
  for (const name of fs.readdirSync(directory)) {
    const first = NAME.exec(name)?.[1];
    if (first !== undefined) found.push({ first: Number(first), path: join(directory, name) });
  }
  return found.sort((left, right) => left.first - right.first);
}

/** Removes what a creation that was cut short has left behind. */
export function removeUnfinished(directory: string): void {
  for (const name of fs.readdirSync(directory)) {
    if (UNFINISHED.test(name)) fs.rmSync(join(directory, name));
  }
}

/** A segment that is written to. */
export class Segment {
  /** Nothing can be said about a file after a write or a sync of it has failed: the segment takes nothing more. */
  #failure: unknown;
  /** The length of the file, zeros included; infinite where no more zeros are to be laid. */
  #fileBytes: number;

  private constructor(
    readonly first: number,
    readonly path: string,
    /** Where the checksums of its frames start from. */
    readonly seed: number,
    readonly file: number,
    /** Where its frames end. */
    public bytes: number,
    private readonly writer: SyncedWriter,
  ) {
    this.#fileBytes = bytes;
  }

  /** Makes a segment; resolves when it would be found after a loss of power. Throws if there is one of that name. */
  static async create(
    directory: string,
    id: Uint8Array,
    first: number,
    writer: SyncedWriter,
  ): Promise<Segment> {
    const path = join(directory, `log-${String(first).padStart(16, '0')}`);
    const unfinished = `${path}.new`;
    const header = headerOf(id, first);
    if (fs.existsSync(path)) throw new Error(`${path} exists already`);
    await fs.promises.writeFile(unfinished, header, { flush: true });
    await fs.promises.rename(unfinished, path);
    await syncDirectory(directory);
    return Segment.#open(path, first, header, writer);
  }

  /** Goes on with a segment after its whole frames, which end at `bytes`: cuts off the rest, synced. */
  static continue(
    { path, first }: SegmentName,
    id: Uint8Array,
    bytes: number,
    writer: SyncedWriter,
  ): Segment {
    const segment = Segment.#open(path, first, headerOf(id, first), writer);
    if (fs.fstatSync(segment.file).size > bytes) {
      fs.ftruncateSync(segment.file, bytes);
      fs.fsyncSync(segment.file);
    }
    segment.bytes = bytes;
    segment.#fileBytes = bytes;
    return segment;
  }

  static #open(path: string, first: number, header: Buffer, writer: SyncedWriter): Segment {
    const file = fs.openSync(path, SYNCED_FLAGS);
    return new Segment(first, path, header.readUInt32LE(0), file, header.length, writer);
  }

  /** Appends bytes; resolves when they are on disk. One call at a time. */
  async append(bytes: Uint8Array): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const end = this.bytes + bytes.length;
    // A large frame gains nothing: most of the time of its sync is its own.
    if (end > this.#fileBytes && bytes.length <= ZEROS_BYTES) await this.#layZeros();
    try {
      await this.writer.write(this.file, bytes, this.bytes);
    } catch (error) {
      this.#failure = error;
      throw error;
    }
    this.bytes = end;
    this.#fileBytes = Math.max(this.#fileBytes, end);
  }

  async #layZeros(): Promise<void> {
    try {
      await this.writer.write(this.file, Buffer.alloc(ZEROS_BYTES), this.#fileBytes);
      this.#fileBytes += ZEROS_BYTES;
    } catch {
      // On a disk that is nearly full there may be room for the frame alone; what fails for another reason fails again with the frame.
      this.#fileBytes = Number.POSITIVE_INFINITY;
    }
  }

  close(): void {
    fs.closeSync(this.file);
  }
}

function headerOf(id: Uint8Array, first: number): Buffer {
  const header = Buffer.alloc(SEGMENT_HEADER_BYTES);
  header.set(MAGIC, MAGIC_AT);
  header.set(id, ID_AT);
  header.writeDoubleLE(first, FIRST_AT);
  header.writeUInt32LE(crc32(header.subarray(MAGIC_AT)), 0);
  return header;
}

/** What is wrong with a segment's header, in words; null if it is the header of this segment of this log. */
export function faultOfHeader(segment: Buffer, id: Uint8Array, first: number): string | null {
  const header = segment.subarray(0, SEGMENT_HEADER_BYTES);
  if (header.equals(headerOf(id, first))) return null;
  const isLog =
    header.length === SEGMENT_HEADER_BYTES &&
    header.subarray(MAGIC_AT, ID_AT).equals(MAGIC) &&
    header.readUInt32LE(0) === crc32(header.subarray(MAGIC_AT));
  if (!isLog) return 'it does not begin as a segment of a log';
  return header.subarray(ID_AT, FIRST_AT).equals(id)
    ? `it begins with number ${header.readDoubleLE(FIRST_AT)}`
    : 'it is of the log of another directory';
}

/** Whether a segment holds nothing but its header. */
export function isEmptySegment({ path }: SegmentName): boolean {
  return fs.statSync(path).size === SEGMENT_HEADER_BYTES;
}

/** The number from which a segment's checksums start. */
export function seedOf(segment: Buffer): number {
  return segment.readUInt32LE(0);
}

/** Makes names that came or went in a directory survive a loss of power. Windows knows no such call and needs none. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await fs.promises.open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
