import { badValue, DbError } from '../errors.js';
import { formatValue } from '../values/format.js';
import { compareText } from '../values/order.js';
import { type Doc, MISSING, type Missing, type Value } from '../values/value.js';
import { checkDollarName } from './storage-rules.js';
import {
  dottedPath,
  type LeafOperator,
  type LeafPlace,
  NotViable,
  type Slot,
  type UpdateContext,
} from './update-context.js';

/** A node of the tree that all operators of one update form. */
export type UpdateNode = LeafNode | FieldsNode | ElementsNode;

/** The end of a path. */
interface LeafNode {
  readonly kind: 'leaf';
  readonly operator: LeafOperator;
}

/** Fields of a document, or elements of an array by their index. */
export interface FieldsNode {
  readonly kind: 'fields';
  readonly children: Map<string, UpdateNode>;
  /** What is below the positional `$`. */
  positional: UpdateNode | null;
}

/** Elements of an array by `$[]` (the empty name) and `$[identifier]`. */
interface ElementsNode {
  readonly kind: 'elements';
  readonly children: Map<string, UpdateNode>;
  readonly filters: ReadonlyMap<string, (element: Value) => boolean>;
}

const ROOT: LeafPlace = { parent: null, name: '', isInArray: false };

const MAX_PADDING = 1_500_000;

/** An empty node for fields. */
export function fieldsNode(): FieldsNode {
  return { kind: 'fields', children: new Map(), positional: null };
}

/** Sorts the children of all nodes: the server applies them, and so adds fields, in that order. */
export function sortTree(node: UpdateNode): void {
  if (node.kind === 'leaf') return;
  // Most nodes have one child.
  if (node.children.size > 1) sortChildren(node.children);
  for (const child of node.children.values()) sortTree(child);
  if (node.kind === 'fields' && node.positional) sortTree(node.positional);
}

function sortChildren(children: Map<string, UpdateNode>): void {
  const sorted = [...children].sort(([left], [right]) => compareText(left, right));
  children.clear();
  for (const [name, child] of sorted) children.set(name, child);
}

/** The document after the update; the given one stays as it is, unchanged parts are shared. */
export function applyTree(root: FieldsNode, context: UpdateContext): Doc {
  return applyToFields(root, context.root, context, ROOT) as Doc;
}

function applyNode(
  node: UpdateNode,
  found: Slot,
  context: UpdateContext,
  place: LeafPlace,
): Value | Missing {
  if (node.kind === 'fields') return applyToFields(node, found, context, place);
  if (node.kind === 'elements') return applyToElements(node, found, context, place);
  if (!(found instanceof NotViable)) return applyLeaf(node.operator, found, context, place);
  const { ignoresNonViablePath } = node.operator;
  if (ignoresNonViablePath === true || (ignoresNonViablePath && !context.isInsert)) return MISSING;
  throw found.error;
}

function applyLeaf(
  operator: LeafOperator,
  found: Value | Missing,
  context: UpdateContext,
  place: LeafPlace,
): Value | Missing {
  const { changes, removedPaths } = context;
  const emptied = removedPaths.length;
  const next = operator.apply(found, context, place);
  if (changes === null) return next;
  const isRename = removedPaths.length > emptied;
  if (isRename || !Object.is(next, found)) {
    changes.record(dottedPath(place), next, context.appended);
    context.appended = 0;
  }
  if (isRename) changes.remove(removedPaths[emptied]!.join('.'));
  return next;
}

function applyToFields(
  node: FieldsNode,
  found: Slot,
  context: UpdateContext,
  place: LeafPlace,
): Value | Missing {
  const children = node.positional ? withPositional(node, context, place) : node.children;
  if (found instanceof Map) return applyToDocument(children, found, context, place);
  if (Array.isArray(found)) return applyToArray(children, found, context, place);
  if (found === MISSING) {
    const created = applyToDocument(children, new Map(), context, place);
    return created.size > 0 ? created : MISSING;
  }
  for (const [name, child] of children) {
    const slot = found instanceof NotViable ? found : cannotCreate(name, found, place);
    applyNode(child, slot, context, below(place, name, false));
  }
  // Nothing is created below a scalar; it stays.
  return found instanceof NotViable ? MISSING : found;
}

function applyToDocument(
  children: ReadonlyMap<string, UpdateNode>,
  document: Doc,
  context: UpdateContext,
  place: LeafPlace,
): Doc {
  let result = document;
  for (const [name, child] of children) {
    const value = document.get(name);
    const found = value !== undefined || document.has(name) ? value : MISSING;
    const next = applyNode(child, found, context, below(place, name, false));
    // Not `===`: a zero may become one of the other sign.
    if (Object.is(next, found)) continue;
    if (result === document) result = copyOf(document);
    if (next === MISSING) result.delete(name);
    else {
      result.set(name, next);
      if (name.startsWith('$')) checkDollarName(result, name);
    }
  }
  return result;
}

/** A copy; a loop is a third quicker than the constructor with a Map. */
function copyOf(document: Doc): Doc {
  const copy: Doc = new Map();
  for (const [name, value] of document) copy.set(name, value);
  return copy;
}

function applyToArray(
  children: ReadonlyMap<string, UpdateNode>,
  array: Value[],
  context: UpdateContext,
  place: LeafPlace,
): Value[] {
  let result = array;
  for (const [name, child] of children) {
    const index = arrayIndex(name);
    const slot: Slot =
      index === null
        ? cannotCreate(name, array, place)
        : index < array.length
          ? array[index]
          : MISSING;
    const next = applyNode(child, slot, context, below(place, name, true));
    if (index === null || Object.is(next, slot)) continue;
    if (index >= array.length && index - array.length > MAX_PADDING) {
      throw new DbError(34, `can't backfill array to larger than ${MAX_PADDING} elements`);
    }
    if (result === array) result = [...array];
    while (result.length < index) result.push(null);
    // An element that is taken out leaves a null, so that the others keep their places.
    result[index] = next === MISSING ? null : next;
  }
  return result;
}

function applyToElements(
  node: ElementsNode,
  found: Slot,
  context: UpdateContext,
  place: LeafPlace,
): Value | Missing {
  const path = dottedPath(place);
  if (found === MISSING || found instanceof NotViable) {
    throw badValue(
      `The path '${path}' must exist in the document in order to apply array updates.`,
    );
  }
  if (!Array.isArray(found)) {
    throw badValue(
      `Cannot apply array updates to non-array element ${path}: ${formatValue(found)}`,
    );
  }
  const matching = matchingElements(node, found);
  // Of several elements what is below is not told by itself: the only one that changed, or the array.
  const { changes } = context;
  if (matching.size > 1) context.changes = null;
  let result = found;
  const changed: number[] = [];
  for (const [index, children] of matching) {
    const element = found[index];
    const inside = below(place, String(index), true);
    const child = children.reduce((merged, each) => mergeNodes(merged, each, inside));
    const next = applyNode(child, element, context, inside);
    if (Object.is(next, element)) continue;
    if (result === found) result = [...found];
    result[index] = next === MISSING ? null : next;
    changed.push(index);
  }
  context.changes = changes;
  if (matching.size > 1 && changed.length > 0) {
    if (changed.length > 1) changes?.set(path, result);
    else changes?.set(`${path}.${changed[0]}`, result[changed[0]!]);
  }
  return result;
}

/** By its index: what is to be done to each element that one of the filters lets through. */
function matchingElements(node: ElementsNode, array: readonly Value[]): Map<number, UpdateNode[]> {
  const matching = new Map<number, UpdateNode[]>();
  for (const [index, element] of array.entries()) {
    const children = [...node.children]
      .filter(([name]) => name === '' || node.filters.get(name)!(element))
      .map(([, child]) => child);
    if (children.length > 0) matching.set(index, children);
  }
  return matching;
}

/** The children with the positional `$` put at the index that the filter matched at. */
function withPositional(
  node: FieldsNode,
  context: UpdateContext,
  place: LeafPlace,
): ReadonlyMap<string, UpdateNode> {
  if (context.matchedIndex === undefined) {
    throw badValue('The positional operator did not find the match needed from the query.');
  }
  const name = String(context.matchedIndex);
  const existing = node.children.get(name);
  const children = new Map(node.children);
  children.set(
    name,
    existing ? mergeNodes(existing, node.positional!, below(place, name, true)) : node.positional!,
  );
  return children;
}

/** One node that does what both do; refuses two operators on one path. */
function mergeNodes(left: UpdateNode, right: UpdateNode, place: LeafPlace): UpdateNode {
  if (left.kind === 'fields' && right.kind === 'fields') {
    return {
      kind: 'fields',
      children: mergeChildren(left.children, right.children, place),
      positional:
        left.positional && right.positional
          ? mergeNodes(left.positional, right.positional, place)
          : (left.positional ?? right.positional),
    };
  }
  if (left.kind === 'elements' && right.kind === 'elements') {
    return {
      kind: 'elements',
      children: mergeChildren(left.children, right.children, place),
      filters: left.filters,
    };
  }
  throw new DbError(40, `Update created a conflict at '${dottedPath(place)}'`);
}

function mergeChildren(
  left: ReadonlyMap<string, UpdateNode>,
  right: ReadonlyMap<string, UpdateNode>,
  place: LeafPlace,
): Map<string, UpdateNode> {
  const merged = new Map(left);
  for (const [name, child] of right) {
    const existing = merged.get(name);
    merged.set(name, existing ? mergeNodes(existing, child, below(place, name, false)) : child);
  }
  return new Map([...merged].sort(([a], [b]) => compareText(a, b)));
}

function below(place: LeafPlace, name: string, isArray: boolean): LeafPlace {
  return { parent: place, name, isInArray: place.isInArray || isArray };
}

function cannotCreate(name: string, container: Value, place: LeafPlace): NotViable {
  return new NotViable(
    new DbError(
      28,
      `Cannot create field '${name}' in element {${place.name}: ${formatValue(container)}}`,
    ),
  );
}

/** The index that a path part names; leading zeros are taken, as by the server. */
function arrayIndex(part: string): number | null {
  return /^\d{1,9}$/.test(part) ? Number(part) : null;
}
