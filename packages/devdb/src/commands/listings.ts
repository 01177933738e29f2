/** What collections and databases there are. */

import { DbError } from '../errors.js';
import { compileFilter } from '../query/compile-filter.js';
import { listSource } from '../state/cursors.js';
import type { View } from '../storage/catalogue.js';
import type { Collection } from '../storage/collection.js';
import { Binary, type Doc, doc, isDoc } from '../values/value.js';
import {
  booleanField,
  type Command,
  type CommandContext,
  countField,
  documentField,
} from './command.js';
import { describeIndex } from './indexes.js';
import { openCursor } from './open-cursor.js';

export const listCollections: Command = {
  name: 'listCollections',
  fields: [],
  unknownField: 'ignore',
  run: runListCollections,
};

function runListCollections(context: CommandContext): Doc {
  const { body, store, database } = context;
  const nameOnly = booleanField(body, 'nameOnly');
  if (body.has('filter') && !isDoc(body.get('filter'))) {
    throw new DbError(2, '"filter" must be an object');
  }
  const filter = documentField(body, 'filter') ?? new Map();
  const matcher = compileFilter(filter, { now: context.now });
  const options = documentField(body, 'cursor');
  const batchSize = (options && countField(options, 'batchSize')) ?? Number.POSITIVE_INFINITY;
  const documents = store.catalogue
    .entries(database)
    .map((entry) => ('records' in entry ? describeCollection(entry) : describeView(entry)))
    .filter((document) => matcher.matches(document))
    .map((document) =>
      nameOnly ? doc(['name', document.get('name')], ['type', document.get('type')]) : document,
    );
  return openCursor(context, listSource(documents), `${database}.$cmd.listCollections`, {
    batchSize,
  });
}

function describeCollection(collection: Collection): Doc {
  const { identity } = collection;
  return doc(
    ['name', identity.name],
    ['type', 'collection'],
    ['options', identity.options],
    ['info', doc(['readOnly', false], ['uuid', new Binary(identity.uuid, Binary.SUBTYPE_UUID)])],
    ['idIndex', describeIndex(collection, collection.indexes[0]!)],
  );
}

function describeView(view: View): Doc {
  return doc(
    ['name', view.name],
    ['type', 'view'],
    ['options', doc(['viewOn', view.viewOn], ['pipeline', [...view.pipeline]])],
    ['info', doc(['readOnly', true])],
  );
}

export const listDatabases: Command = {
  name: 'listDatabases',
  fields: ['filter', 'nameOnly', 'authorizedDatabases'],
  unknownField: 40415,
  adminOnly: true,
  run(context) {
    const { body, store } = context;
    const nameOnly = booleanField(body, 'nameOnly');
    const matcher = compileFilter(documentField(body, 'filter') ?? new Map(), { now: context.now });
    const databases = store.catalogue
      .databaseNames()
      .map((name) => doc(['name', name], ['sizeOnDisk', 4096], ['empty', false]))
      .filter((document) => matcher.matches(document))
      .map((document) => (nameOnly ? doc(['name', document.get('name')]) : document));
    const reply = doc(['databases', databases]);
    if (!nameOnly) reply.set('totalSize', databases.length * 4096);
    return reply;
  },
};
