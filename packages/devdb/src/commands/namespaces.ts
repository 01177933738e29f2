import { DbError } from '../errors.js';
import { compileFilter, type Matcher } from '../query/compile-filter.js';
import type { Collection } from '../storage/collection.js';
import { createCollection } from '../storage/definitions.js';
import { Blocked } from '../storage/store.js';
import { type Doc, isDoc } from '../values/value.js';
import { booleanField, type CommandContext, checkNewName, waitForUnblock } from './command.js';

/** The collection that a command reads, or undefined if there is none (which reads as empty). */
export function readableCollection(context: CommandContext, name: string): Collection | undefined {
  return context.store.catalogueOf(context.unit).collection(context.database, name);
}

/**
 * The collection that a command writes to; it comes into being with its first write. Throws 166 for a view, and 263 in
 * a transaction, in which no collection may come into being.
 */
export function writableCollection(context: CommandContext, name: string): Collection {
  const { store, unit, database } = context;
  const found = store.catalogueOf(unit).collection(database, name);
  if (found !== undefined) return found;
  refuseView(context, name);
  checkNewName(database, name);
  refuseSystem(context, name);
  if (unit.transaction !== null) {
    if (store.catalogue.collection(database, name) !== undefined) {
      throw new DbError(
        246,
        `Unable to read from a snapshot due to pending collection catalog changes: ${database}.${name}`,
        {
          labels: ['TransientTransactionError'],
        },
      );
    }
    throw new DbError(
      263,
      `Cannot create namespace ${database}.${name} in multi-document transaction.`,
    );
  }
  return createCollection(store, unit, database, name);
}

/** Throws 73 for a name that is kept for the server. */
export function refuseSystem(context: CommandContext, name: string): void {
  if (!name.startsWith('system.')) return;
  throw new DbError(73, `cannot write to '${context.database}.${name}'`);
}

/** Throws 166 if the name is a view's. */
export function refuseView(context: CommandContext, name: string): void {
  if (context.store.catalogue.view(context.database, name) !== undefined) {
    throw new DbError(166, `Namespace ${context.database}.${name} is a view, not a collection`);
  }
}

const validators = new WeakMap<Doc, Matcher>();

/** Throws 121 for a document that the collection's validator refuses, unless the command goes round it. */
export function checkValidator(
  context: CommandContext,
  collection: Collection,
  document: Doc,
  before: Doc | null = null,
): void {
  const { options } = collection.identity;
  const validator = options.get('validator');
  if (!isDoc(validator) || validator.size === 0) return;
  if (options.get('validationAction') === 'warn' || options.get('validationLevel') === 'off')
    return;
  if (booleanField(context.body, 'bypassDocumentValidation')) return;
  let matcher = validators.get(validator);
  if (matcher === undefined) {
    matcher = compileFilter(validator, { now: context.now });
    validators.set(validator, matcher);
  }
  if (matcher.matches(document)) return;
  // Under the moderate level what was already wrong may stay wrong.
  const isModerate = options.get('validationLevel') === 'moderate';
  if (isModerate && before !== null && !matcher.matches(before)) return;
  throw new DbError(121, 'Document failed validation');
}

/** Waits until no open transaction has written to the collection: its definition is about to change. */
export async function waitForWriters(context: CommandContext, name: string): Promise<void> {
  for (;;) {
    const collection = context.store.catalogue.collection(context.database, name);
    const writer = collection === undefined ? null : context.store.writerOf(collection);
    if (writer === null) return;
    await waitForUnblock(context, new Blocked(writer));
  }
}
