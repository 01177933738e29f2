import { DbError } from '../errors.js';
import { DocumentScan } from '../planner/execute.js';
import { planQuery } from '../planner/plan.js';
import { compileFilter } from '../query/compile-filter.js';
import { Blocked } from '../storage/store.js';
import { toDouble } from '../values/numbers.js';
import { type Doc, isNumeric, type Value } from '../values/value.js';
import {
  type Command,
  type CommandContext,
  collectionName,
  documentField,
  waitForUnblock,
  wrongType,
} from './command.js';
import { timelessEnv } from './expression-env.js';
import { writeBatch } from './insert.js';
import { readableCollection, refuseView } from './namespaces.js';
import { refuseOptionalCollation } from './query.js';
import { runStatements, type StatementResult, statementReply } from './write-statements.js';

/** `delete`: each element of `deletes` is one statement. */
export const deleteCommand: Command = {
  name: 'delete',
  fields: ['deletes', 'ordered'],
  unknownField: 40415,
  inTransaction: true,
  isRetryable: true,
  run: runDelete,
};

const STATEMENT_FIELDS: ReadonlySet<string> = new Set(['q', 'limit', 'collation', 'hint']);

interface DeleteStatement {
  readonly filter: Doc;
  readonly single: boolean;
  readonly hint: Value;
}

async function runDelete(context: CommandContext): Promise<Doc> {
  const name = collectionName(context);
  const statements = writeBatch(context.body, 'deletes').map(readStatement);
  return statementReply(
    context,
    await runStatements(context, context.body.get('deletes') as Doc[], (_, index) =>
      executeDelete(context, name, statements[index]!),
    ),
  );
}

function readStatement(statement: Doc): DeleteStatement {
  for (const field of statement.keys()) {
    if (!STATEMENT_FIELDS.has(field)) {
      throw new DbError(40415, `BSON field 'delete.deletes.${field}' is an unknown field.`);
    }
  }
  for (const field of ['q', 'limit']) {
    if (!statement.has(field)) {
      throw new DbError(
        40414,
        `BSON field 'delete.deletes.${field}' is missing but a required field`,
      );
    }
  }
  refuseOptionalCollation(statement);
  const limit = statement.get('limit');
  if (!isNumeric(limit)) throw wrongType('limit', limit, 'number');
  const count = toDouble(limit);
  if (count !== 0 && count !== 1) {
    throw new DbError(9, `The limit field in delete objects must be 0 or 1. Got ${count}`);
  }
  return {
    filter: documentField(statement, 'q') ?? new Map(),
    single: count === 1,
    hint: statement.get('hint'),
  };
}

async function executeDelete(
  context: CommandContext,
  name: string,
  statement: DeleteStatement,
): Promise<StatementResult> {
  refuseView(context, name);
  if (!statement.single && context.txnNumber !== null && context.transaction === null) {
    throw new DbError(72, 'Cannot use (or request) retryable writes with limit=0');
  }
  const matcher = compileFilter(statement.filter, timelessEnv(context));
  if (readableCollection(context, name)?.identity.options.get('capped') === true) {
    throw new DbError(20, `cannot remove from a capped collection: ${context.database}.${name}`);
  }
  let removed = 0;
  for (;;) {
    const collection = readableCollection(context, name);
    if (collection === undefined) break;
    const plan = planQuery(collection, statement.filter, { hint: statement.hint });
    const scan = new DocumentScan(collection, plan, matcher.matches);
    const first = statement.single ? scan.next() : null;
    const targets = statement.single ? (first === null ? [] : [first]) : scan.toArray();
    let blocked: Blocked | null = null;
    for (const { recordId } of targets) {
      try {
        context.store.remove(context.unit, collection, recordId);
        removed += 1;
      } catch (error) {
        if (!(error instanceof Blocked)) throw error;
        blocked = error;
        break;
      }
    }
    if (blocked === null) break;
    await waitForUnblock(context, blocked);
  }
  return { matched: removed, modified: null, upserted: undefined };
}
