/**
 * Durable storage: a log that is quick to append to, and tables (lmdb) into which it is moved now and then. The memory is
 * the truth while the server runs; tables and log are what the next server starts from.
 *
 * The changes of a command are one batch; batches that wait together are one frame of the log, written and synced at once
 * (group commit). `commit` resolves when the frame is synced. Frames are written one after the other in the order of `commit`
 * calls, so that what survives a kill is always a prefix. The tables never hold a change whose frame is not synced.
 *
 * States of a data directory, S being the checkpoint that its tables name:
 *
 *   quiet    segment S+1 is written to                                         the log holds what is newer than S
 *   moving   segments S+1 (closed) to N, and N+1, which is written to          parts of S+1 to N are in the tables
 *   moved    the tables name N; older segments wait for their deletion         = quiet with S = N
 *
 * A checkpoint goes from quiet to quiet again, while commits go on in the new segment:
 *   1. make segment N+1 (`segment.ts`), N being the number of the last frame; from now on frames go there
 *   2. write the newest change of each key up to N to the tables, synced
 *   3. write the checkpoint N to the tables, synced
 *   4. delete the segments before N+1
 *
 * Death between two steps, and at any other instant:
 *   while a frame is written    it is incomplete or its checksum is wrong, and it is the last one: the next start cuts it off, with the zeros
 *                               that are laid behind frames. Nobody was told of it, and no frame can have been written after it.
 *   while 1 makes a segment     it has another name until it is whole: the next start removes it.
 *   after 1                     the log goes on in the new segment: the next start reads both.
 *   during and after 2          the log is still read from S+1. Changes are whole values, so that reading them again over
 *                               tables that have some of them already comes to the same end.
 *   after 3, during 4           the next start deletes what is before the checkpoint, unread.
 * A start reads the log, cuts off its torn end and makes a checkpoint of it before anything is served (steps 1 to 4, so that
 * dying again there is the same as above). Where there is no log yet it makes segment 1 and then names the log in the tables: a segment
 * without frames that no tables name is of a start that died in between.
 *
 * A write or a sync that fails (disk full, device gone) is final: the memory is ahead of the disk then, so that nothing is acknowledged
 * any more, and what the log holds is moved by the next start. A checkpoint that fails is final too: the log must not grow for ever.
 */
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { basename } from 'node:path';
import type { DiskChange } from './disk-change.js';
import { FrameWriter } from './frame.js';
import { Group } from './group.js';
import { LOG_ID_BYTES, readLogRecord, writeLogRecord } from './log-record.js';
import { PendingChanges } from './pending-changes.js';
import { LogFault, replayLog } from './replay.js';
import { findSegments, isEmptySegment, removeUnfinished, Segment } from './segment.js';
import { SyncedWriter } from './synced-writer.js';
import type { Tables } from './tables.js';

/** What a disk has just done. */
export type DiskStep =
  | 'began a log'
  | 'cut the log'
  | 'switched'
  | 'moved the changes'
  | 'named the checkpoint'
  | 'deleted old segments';

/** How a disk works; the defaults are for use, tests choose others. */
export interface DiskOptions {
  /** The length of a segment from which on it is moved into the tables; bytes, default 8 MiB. */
  readonly checkpointBytes?: number;
  /** The length of the log from which on commits wait for a running checkpoint; bytes, default 64 MiB. */
  readonly maxLogBytes?: number;
  /** How long nothing may be committed before the log is moved; milliseconds, default 1,000. */
  readonly idleMs?: number;
  /** Called after each step; the next one waits for it. */
  readonly onStep?: (step: DiskStep) => void | Promise<void>;
}

/** The durable side of one data directory. */
export class Disk {
  readonly #checkpointBytes: number;
  readonly #maxLogBytes: number;
  readonly #onStep: (step: DiskStep) => void | Promise<void>;
  readonly #idle: NodeJS.Timeout;
  /** What waits, first come first; the last group takes what comes. */
  readonly #groups: Group[] = [];
  readonly #spareFrames: FrameWriter[] = [];
  #running: Promise<void> | null = null;
  /** The changes of the current segment. */
  #pending = new PendingChanges();
  /** The checkpoint that is being made; never rejects. */
  #moving: Promise<void> | null = null;
  #movingBytes = 0;
  /** A checkpoint is wanted although the segment is short. */
  #wanted = false;
  #failure: unknown;
  #closed = false;

  private constructor(
    readonly tables: Tables,
    options: DiskOptions,
    readonly id: Uint8Array,
    private segment: Segment,
    private readonly writer: SyncedWriter,
    /** The number of the last frame. */
    private sequence: number,
  ) {
    this.#checkpointBytes = options.checkpointBytes ?? 8 * 1024 * 1024;
    this.#maxLogBytes = options.maxLogBytes ?? 64 * 1024 * 1024;
    this.#onStep = options.onStep ?? (() => {});
    this.#idle = setTimeout(() => this.#want(), options.idleMs ?? 1000);
    // What is in the log is safe: the process may end before it is moved.
    this.#idle.unref();
  }

  /**
   * Opens the log of a directory whose tables are open, and moves it into them: afterwards they hold all that was
   * acknowledged. Throws LogFault for a log that does not fit, and changes nothing then. `close` closes the tables too.
   */
  static async open(tables: Tables, options: DiskOptions = {}): Promise<Disk> {
    const record = readLogRecord(tables);
    if (record === null) return Disk.#begin(tables, options);
    const { pending, last, newest, end } = replayLog(tables.directory, record);
    removeUnfinished(tables.directory);
    const writer = new SyncedWriter();
    const segment = Segment.continue(newest, record.id, end, writer);
    const disk = new Disk(tables, options, record.id, segment, writer, last);
    disk.#pending = pending;
    try {
      await disk.#onStep('cut the log');
      await disk.#moveAll();
    } catch (error) {
      disk.#end();
      throw error;
    }
    return disk;
  }

  static async #begin(tables: Tables, options: DiskOptions): Promise<Disk> {
    for (const segment of findSegments(tables.directory)) {
      if (!isEmptySegment(segment)) {
        throw new LogFault(`${basename(segment.path)} is a log of which the tables do not know`);
      }
      await rm(segment.path);
    }
    removeUnfinished(tables.directory);
    const id = randomBytes(LOG_ID_BYTES);
    const writer = new SyncedWriter();
    const segment = await Segment.create(tables.directory, id, 1, writer);
    const disk = new Disk(tables, options, id, segment, writer, 0);
    await disk.#onStep('began a log');
    await writeLogRecord(tables, { id, checkpoint: 0 });
    return disk;
  }

  /** Makes the changes durable, all or none of them. Rejects if the disk refuses; then nothing later succeeds either. */
  commit(changes: readonly DiskChange[]): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#closed) return Promise.reject(new Error('the disk is closed'));
    let group = this.#groups.at(-1);
    if (group === undefined || group.isFull) {
      group = new Group(this.#spareFrames.pop() ?? new FrameWriter());
      this.#groups.push(group);
    }
    try {
      group.add(changes);
    } catch (error) {
      // A part of it may be in the frame.
      this.#failure ??= error;
    }
    this.#running ??= this.#run();
    return group.promise;
  }

  /** Resolves when everything committed so far is on disk. */
  async flushed(): Promise<void> {
    // An empty batch comes through with the group that it waits in, however many come after it.
    if (this.#running !== null) await this.commit([]);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #run(): Promise<void> {
    // Let the commands that are ready in this turn of the event loop join the first group.
    await new Promise((resolve) => setImmediate(resolve));
    for (;;) {
      if (this.#isCheckpointDue()) await this.#beginCheckpoint();
      const group = this.#groups.shift();
      if (group === undefined) break;
      try {
        await this.#write(group);
        group.resolve();
      } catch (error) {
        // Memory is ahead of the disk from here on: nothing may be acknowledged any more.
        this.#failure ??= error;
        group.reject(this.#failure);
      }
    }
    this.#running = null;
  }

  async #write({ frame, batches }: Group): Promise<void> {
    if (this.#segmentsBytes() > this.#maxLogBytes) await this.#moving;
    if (this.#failure !== undefined) throw this.#failure;
    if (batches.length > 0) {
      const written = this.segment.append(frame.finish(this.sequence + 1, this.segment.seed));
      // While the disk works, if it does so in a thread. Nothing is moved before the frame is synced: checkpoints begin between two groups.
      for (const changes of batches) this.#pending.add(changes);
      await written;
      this.sequence += 1;
      this.#idle.refresh();
    }
    frame.reset();
    this.#spareFrames.push(frame);
  }

  #segmentsBytes(): number {
    return this.segment.bytes + this.#movingBytes;
  }

  #want(): void {
    if (this.#pending.isEmpty) return;
    this.#wanted = true;
    if (this.#isCheckpointDue()) this.#running ??= this.#run();
  }

  #isCheckpointDue(): boolean {
    if (this.#moving !== null || this.#closed || this.#failure !== undefined) return false;
    if (this.#pending.isEmpty) return false;
    return this.#wanted || this.segment.bytes >= this.#checkpointBytes;
  }

  /** Switches to a new segment and leaves the rest to go on by itself. */
  async #beginCheckpoint(): Promise<void> {
    this.#wanted = false;
    try {
      await this.#switch();
    } catch (error) {
      this.#failure ??= error;
      return;
    }
    this.#moving = this.#move()
      .catch((error) => {
        this.#failure ??= error;
      })
      .finally(() => {
        this.#moving = null;
        this.#movingBytes = 0;
        if (this.#isCheckpointDue()) this.#running ??= this.#run();
      });
  }

  /** Makes a whole checkpoint while nothing is committed. */
  async #moveAll(): Promise<void> {
    await this.#switch();
    await this.#move();
  }

  async #switch(): Promise<void> {
    const { segment, sequence } = this;
    // A segment without frames serves as the new one.
    if (segment.first > sequence) return;
    this.segment = await Segment.create(this.tables.directory, this.id, sequence + 1, this.writer);
    this.#movingBytes = segment.bytes;
    segment.close();
    await this.#onStep('switched');
  }

  /** Moves what was committed before the current segment. */
  async #move(): Promise<void> {
    const { tables, id } = this;
    const { first } = this.segment;
    const moved = this.#pending;
    this.#pending = new PendingChanges();
    if (!moved.isEmpty) {
      await tables.write(moved);
      await this.#onStep('moved the changes');
      await writeLogRecord(tables, { id, checkpoint: first - 1 });
      await this.#onStep('named the checkpoint');
    }
    const old = findSegments(tables.directory).filter((segment) => segment.first < first);
    for (const { path } of old) await rm(path);
    if (old.length > 0) await this.#onStep('deleted old segments');
  }

  /** Writes what waits, moves the log into the tables, and closes both. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
    await this.#moving;
    // What cannot be moved stays in the log for the next start.
    if (this.#failure === undefined && !this.#pending.isEmpty)
      await this.#moveAll().catch(() => {});
    this.#end();
    await this.tables.close();
  }

  #end(): void {
    this.#closed = true;
    clearTimeout(this.#idle);
    this.segment.close();
  }
}
