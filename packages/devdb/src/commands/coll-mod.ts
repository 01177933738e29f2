import { DbError } from '../errors.js';
import type { Collection } from '../storage/collection.js';
import { saveCollection, setIndexExpiry } from '../storage/definitions.js';
import { type Doc, doc, isDoc, isNumeric } from '../values/value.js';
import { readCollectionOptions } from './collection-options.js';
import { type Command, type CommandContext, collectionName, documentField } from './command.js';
import { checkExpiry } from './index-specification.js';
import { waitForWriters } from './namespaces.js';

export const collMod: Command = {
  name: 'collMod',
  fields: ['index', 'validator', 'validationLevel', 'validationAction', 'viewOn', 'pipeline'],
  unknownField: 72,
  run: runCollMod,
};

async function runCollMod(context: CommandContext): Promise<Doc> {
  const { body, store, unit, database } = context;
  const name = collectionName(context);
  await waitForWriters(context, name);
  const collection = store.catalogue.collection(database, name);
  if (collection === undefined) throw new DbError(26, 'ns does not exist');
  const reply = doc();
  const index = documentField(body, 'index');
  if (index !== undefined) {
    const changed = changeExpiry(context, collection, index);
    for (const [key, value] of changed) reply.set(key, value);
  }
  const changes: Doc = new Map(collection.identity.options);
  const options = readCollectionOptions(context);
  for (const [key, value] of options) changes.set(key, value);
  if (options.size > 0) {
    collection.identity.options = changes;
    saveCollection(collection, unit.stored);
  }
  return reply;
}

function changeExpiry(context: CommandContext, collection: Collection, index: Doc): Doc {
  const name = index.get('name');
  const pattern = index.get('keyPattern');
  if (name !== undefined && pattern !== undefined) {
    throw new DbError(72, 'Cannot specify both key pattern and name.');
  }
  const found = collection.indexes.find((one) =>
    name !== undefined ? one.spec.name === name : isDoc(pattern) && sameKeys(one.spec.key, pattern),
  );
  if (found === undefined) {
    throw new DbError(27, `cannot find index for ns ${collection.namespace}`);
  }
  const seconds = index.get('expireAfterSeconds');
  if (seconds === undefined) throw new DbError(72, 'no expireAfterSeconds field');
  if (!isNumeric(seconds)) throw new DbError(72, 'expireAfterSeconds field must be a number');
  const previous = found.spec.stored.get('expireAfterSeconds');
  if (previous === undefined) throw new DbError(72, 'no expireAfterSeconds field to update');
  checkExpiry(seconds);
  setIndexExpiry(collection, context.unit, found.spec.name, seconds);
  return doc(['expireAfterSeconds_old', previous], ['expireAfterSeconds_new', seconds]);
}

function sameKeys(left: Doc, right: Doc): boolean {
  return (
    left.size === right.size &&
    [...left].every(([path, direction]) => String(direction) === String(right.get(path)))
  );
}
