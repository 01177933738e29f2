import { badValue, DbError, failedToParse } from '../errors.js';
import type { FilterEnv } from '../query/filter-env.js';
import { formatValue } from '../values/format.js';
import { typeName } from '../values/type-names.js';
import { type Doc, isDoc, type Value } from '../values/value.js';
import type { ArrayFilters } from './array-filters.js';
import { addToSetOperator, popOperator, pullAllOperator, pullOperator } from './array-operators.js';
import {
  arithmeticOperator,
  bitOperator,
  currentDateOperator,
  extremeOperator,
  RENAME_SOURCE,
  renameOperator,
  setOnInsertOperator,
  setOperator,
  unsetOperator,
} from './field-operators.js';
import { pushOperator } from './push-operator.js';
import type { LeafOperator } from './update-context.js';
import { type FieldsNode, fieldsNode, sortTree, type UpdateNode } from './update-tree.js';

type OperatorFactory = (operand: Value, path: string, env: FilterEnv) => LeafOperator;

const OPERATORS: ReadonlyMap<string, OperatorFactory> = new Map<string, OperatorFactory>([
  ['$set', setOperator],
  ['$setOnInsert', setOnInsertOperator],
  ['$unset', unsetOperator],
  ['$inc', (operand, path) => arithmeticOperator('$inc', operand, path)],
  ['$mul', (operand, path) => arithmeticOperator('$mul', operand, path)],
  ['$min', (operand, path) => extremeOperator('$min', operand, path)],
  ['$max', (operand, path) => extremeOperator('$max', operand, path)],
  ['$currentDate', currentDateOperator],
  ['$bit', bitOperator],
  ['$push', pushOperator],
  ['$addToSet', addToSetOperator],
  ['$pop', popOperator],
  ['$pull', (operand, _, env) => pullOperator(operand, env)],
  ['$pullAll', pullAllOperator],
]);

/**
 * Builds the tree of an update with operators. Throws FailedToParse (9) for an unknown operator or
 * an unused array filter, 40 for two operators on one path or on one inside the other.
 */
export function parseOperators(update: Doc, filters: ArrayFilters, env: FilterEnv): FieldsNode {
  const builder = new TreeBuilder(filters);
  for (const [operator, operands] of update) {
    if (operator !== '$rename' && !OPERATORS.has(operator)) {
      throw failedToParse(
        `Unknown modifier: ${operator}. Expected a valid update modifier or pipeline-style ` +
          'update specified as an array',
      );
    }
    checkOperands(operator, operands);
    for (const [path, operand] of operands) {
      if (operator === '$rename') builder.addRename(path, operand);
      else builder.add(path, OPERATORS.get(operator)!(operand, path, env));
    }
  }
  builder.checkAllUsed(update);
  sortTree(builder.root);
  return builder.root;
}

function checkOperands(operator: string, operands: Value): asserts operands is Doc {
  if (!isDoc(operands)) {
    throw failedToParse(
      `Modifiers operate on fields but we found type ${typeName(operands)} instead. For example: ` +
        `{$mod: {<field>: ...}} not {${operator}: ${formatValue(operands)}}`,
    );
  }
  if (operands.size === 0) {
    throw failedToParse(
      `'${operator}' is empty. You must specify a field like so: {${operator}: {<field>: ...}}`,
    );
  }
}

/** A node that has others below it. */
type BranchNode = Exclude<UpdateNode, { kind: 'leaf' }>;

class TreeBuilder {
  readonly root = fieldsNode();
  private readonly usedFilters = new Set<string>();

  constructor(private readonly filters: ArrayFilters) {}

  add(dotted: string, operator: LeafOperator): void {
    const parts = splitUpdatePath(dotted);
    this.checkDynamicParts(parts, dotted);
    let node: BranchNode = this.root;
    for (let depth = 0; depth < parts.length; depth++) {
      const part = parts[depth]!;
      const identifier = elementIdentifier(part);
      if (node.kind !== (identifier === null ? 'fields' : 'elements')) {
        throw conflict(dotted, parts.slice(0, depth).join('.'));
      }
      const existing = this.childOf(node, part, identifier);
      const isLeaf = depth === parts.length - 1;
      if (existing === undefined) {
        const child: UpdateNode = isLeaf
          ? { kind: 'leaf', operator }
          : this.branchFor(parts[depth + 1]!);
        this.attach(node, part, identifier, child);
        if (child.kind === 'leaf') return;
        node = child;
      } else if (isLeaf || existing.kind === 'leaf') {
        throw conflict(dotted, parts.slice(0, depth + 1).join('.'));
      } else {
        node = existing;
      }
    }
  }

  /** Two leaves: the target does the work, the source only keeps others away. */
  addRename(source: string, operand: Value): void {
    if (typeof operand !== 'string') {
      throw badValue(
        `The 'to' field for $rename must be a string: ${source}: ${formatValue(operand)}`,
      );
    }
    const from = splitUpdatePath(source);
    const to = splitUpdatePath(operand);
    if (source === operand) {
      throw badValue(
        `The source and target field for $rename must differ: ${source}: "${operand}"`,
      );
    }
    if (operand.startsWith(`${source}.`) || source.startsWith(`${operand}.`)) {
      throw badValue(
        `The source and target field for $rename must not be on the same path: ${source}: "${operand}"`,
      );
    }
    if (from.some(isDynamic)) {
      throw badValue(`The source field for $rename may not be dynamic: ${source}`);
    }
    if (to.some(isDynamic)) {
      throw badValue(`The destination field for $rename may not be dynamic: ${operand}`);
    }
    this.add(source, RENAME_SOURCE);
    this.add(operand, renameOperator(from));
  }

  checkAllUsed(update: Doc): void {
    for (const identifier of this.filters.keys()) {
      if (this.usedFilters.has(identifier)) continue;
      throw failedToParse(
        `The array filter for identifier '${identifier}' was not used in the update ${formatValue(update)}`,
      );
    }
  }

  private childOf(
    node: BranchNode,
    part: string,
    identifier: string | null,
  ): UpdateNode | undefined {
    if (node.kind === 'fields' && part === '$') return node.positional ?? undefined;
    return node.children.get(identifier ?? part);
  }

  private attach(
    node: BranchNode,
    part: string,
    identifier: string | null,
    child: UpdateNode,
  ): void {
    if (node.kind === 'fields' && part === '$') node.positional = child;
    else node.children.set(identifier ?? part, child);
  }

  /** The node in which `next` is to be found. */
  private branchFor(next: string): BranchNode {
    return elementIdentifier(next) === null
      ? fieldsNode()
      : { kind: 'elements', children: new Map(), filters: this.filters };
  }

  private checkDynamicParts(parts: readonly string[], dotted: string): void {
    if (parts[0] === '$') {
      throw badValue(
        `Cannot have positional (i.e. '$') element in the first position in path '${dotted}'`,
      );
    }
    if (parts.filter((part) => part === '$').length > 1) {
      throw badValue(`Too many positional (i.e. '$') elements found in path '${dotted}'`);
    }
    if (elementIdentifier(parts[0]!) !== null) {
      throw badValue(
        "Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in " +
          `path '${dotted}'`,
      );
    }
    for (const part of parts) {
      const identifier = elementIdentifier(part);
      if (identifier === null || identifier === '') continue;
      if (!this.filters.has(identifier)) {
        throw badValue(`No array filter found for identifier '${identifier}' in path '${dotted}'`);
      }
      this.usedFilters.add(identifier);
    }
  }
}

/** Splits the path of an update; refuses (56) empty paths and empty parts. */
function splitUpdatePath(dotted: string): string[] {
  if (dotted === '') throw new DbError(56, 'An empty update path is not valid.');
  const parts = dotted.split('.');
  if (parts.includes('')) {
    throw new DbError(
      56,
      `The update path '${dotted}' contains an empty field name, which is not allowed.`,
    );
  }
  return parts;
}

/** The identifier in `$[identifier]`, empty for `$[]`, null for any other part. */
function elementIdentifier(part: string): string | null {
  return part.startsWith('$[') && part.endsWith(']') ? part.slice(2, -1) : null;
}

function isDynamic(part: string): boolean {
  return part === '$' || elementIdentifier(part) !== null;
}

function conflict(path: string, at: string): DbError {
  return new DbError(40, `Updating the path '${path}' would create a conflict at '${at}'`);
}
