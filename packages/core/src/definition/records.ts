/**
 * The raw records that the decorators leave on a class: the only file that touches reflect-metadata.
 *
 * A record is what the user wrote, unread and unchecked; the compiler judges it when it sees the whole graph. Keys come
 * from `Symbol.for`, and the values are plain data, so that two copies of this package in a monorepo read each other's
 * records. `design:*` metadata is never read: tsx and esbuild do not emit it.
 */

import 'reflect-metadata';
import { DecoratorError } from '../errors.js';
import { noteDecorated } from './registry.js';
import { describeSite, type Site } from './site.js';

/** What `@Job` and `@Dag` record. */
export interface OptionsRecord {
  /** As the user wrote it; may be anything. */
  readonly options: unknown;
  readonly site: Site | undefined;
}

/** What `@DependsOn` records. */
export interface DependenciesRecord {
  /** Classes or functions that return one, in order; may be anything. */
  readonly jobs: readonly unknown[];
  readonly site: Site | undefined;
}

interface Records {
  readonly Dag: OptionsRecord;
  readonly Job: OptionsRecord;
  readonly DependsOn: DependenciesRecord;
}

const keys = {
  Dag: Symbol.for('flowline.dag'),
  Job: Symbol.for('flowline.job'),
  DependsOn: Symbol.for('flowline.depends-on'),
} as const;

/** Writes a record on a class. Throws DecoratorError if the class has one of this kind already. */
export function writeRecord<K extends keyof Records>(
  kind: K,
  target: object,
  record: Records[K],
): void {
  const earlier = readRecord(kind, target);
  if (earlier !== undefined) {
    const name = (target as { name?: string }).name || 'a class';
    throw new DecoratorError(
      `@${kind} stands twice on ${name}: expected once, found ${describeSite(earlier.site)} and ${describeSite(record.site)}`,
      {
        hint:
          kind === 'DependsOn'
            ? 'List all dependencies in one @DependsOn(A, B).'
            : `Merge the options into one @${kind}({ ... }).`,
      },
    );
  }
  Reflect.defineMetadata(keys[kind], record, target);
  noteDecorated(target);
}

/** The record of this kind that stands on the class itself (not on one that it extends); undefined if none. */
export function readRecord<K extends keyof Records>(
  kind: K,
  target: unknown,
): Records[K] | undefined {
  if (typeof target !== 'function') return undefined;
  return Reflect.getOwnMetadata(keys[kind], target) as Records[K] | undefined;
}

/** True for a class that carries `@Job`, `@Dag` or `@DependsOn` itself. */
export function isDecorated(target: unknown): boolean {
  return (Object.keys(keys) as (keyof Records)[]).some(
    (kind) => readRecord(kind, target) !== undefined,
  );
}
