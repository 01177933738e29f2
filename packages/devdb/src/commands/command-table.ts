import { aggregate } from './aggregate.js';
import { collMod } from './coll-mod.js';
import { create, drop, dropDatabase, renameCollectionCommand } from './collections.js';
import type { Command } from './command.js';
import { count } from './count.js';
import { getMore, killCursors } from './cursors.js';
import { deleteCommand } from './delete.js';
import * as diagnostics from './diagnostics.js';
import { distinct } from './distinct.js';
import { explain } from './explain.js';
import { find } from './find.js';
import { findAndModify } from './find-and-modify.js';
import { hello, isMaster, ping } from './handshake.js';
import { createIndexes, dropIndexesCommand, listIndexes } from './indexes.js';
import { insert } from './insert.js';
import { listCollections, listDatabases } from './listings.js';
import {
  endSessions,
  killAllSessions,
  killSessions,
  refreshSessions,
  startSession,
} from './sessions.js';
import { abortTransaction, commitTransaction } from './transactions.js';
import { update } from './update.js';

const ALL: readonly Command[] = [
  abortTransaction,
  aggregate,
  collMod,
  commitTransaction,
  count,
  create,
  createIndexes,
  deleteCommand,
  distinct,
  drop,
  dropDatabase,
  dropIndexesCommand,
  endSessions,
  explain,
  find,
  findAndModify,
  getMore,
  hello,
  insert,
  isMaster,
  killCursors,
  killAllSessions,
  killSessions,
  listCollections,
  listDatabases,
  listIndexes,
  ping,
  refreshSessions,
  renameCollectionCommand,
  startSession,
  update,
  ...Object.values(diagnostics),
];

/** Every command by each of its names. */
export const COMMANDS: ReadonlyMap<string, Command> = new Map(
  ALL.flatMap((command) =>
    [command.name, ...(command.aliases ?? [])].map((name): [string, Command] => [name, command]),
  ),
);
