import { badValue } from '../errors.js';
import type { Doc, Value } from '../values/value.js';

/** What a positional projection (`a.$`) needs to know of the match. */
export interface PositionalMatch {
  readonly index: number | undefined;
}

/**
 * The fields of a find's projection as a tree, with the rules of MongoDB 4.2's `ProjectionExec`:
 * later entries overrule earlier ones on the same path, arrays are projected element by element,
 * scalars inside of them stay only where the node itself is included.
 */
export class ProjectionTree {
  /** What becomes of fields that the tree does not name. */
  included = true;
  private readonly fields = new Map<string, ProjectionTree>();
  private slice: { skip: number; limit: number } | null = null;
  private hasSlice = false;

  /** Includes or excludes a path; all other fields beside it are then treated the other way. */
  add(path: readonly string[], include: boolean): void {
    const [field, ...rest] = path;
    if (field === undefined) {
      this.included = include;
      return;
    }
    this.included = !include;
    this.child(field).add(rest, include);
  }

  /** Cuts the array at a path; a negative `skip` counts from its end. */
  addSlice(path: readonly string[], skip: number, limit: number): void {
    this.hasSlice = true;
    const [field, ...rest] = path;
    if (field === undefined) this.slice = { skip, limit };
    else this.child(field).addSlice(rest, skip, limit);
  }

  private child(field: string): ProjectionTree {
    let child = this.fields.get(field);
    if (!child) {
      child = new ProjectionTree();
      this.fields.set(field, child);
    }
    return child;
  }

  /** Writes what is left of one field to `out`. */
  project(out: Doc, field: string, value: Value, positional: PositionalMatch | null): void {
    const child = this.fields.get(field);
    if (!child) {
      if (this.included) out.set(field, value);
    } else if (Array.isArray(value) && child.reachesInside()) {
      out.set(field, positional ? matched(field, value, positional) : child.array(value, false));
    } else if (value instanceof Map && child.reachesInside()) {
      out.set(field, child.document(value, positional));
    } else if (child.included) {
      out.set(field, value);
    }
  }

  private reachesInside(): boolean {
    return this.fields.size > 0 || this.hasSlice;
  }

  private document(document: Doc, positional: PositionalMatch | null): Doc {
    const out: Doc = new Map();
    for (const [field, value] of document) this.project(out, field, value, positional);
    return out;
  }

  private array(array: readonly Value[], isNested: boolean): Value[] {
    const out: Value[] = [];
    for (const element of isNested ? array : this.cut(array)) {
      if (Array.isArray(element)) out.push(this.array(element, true));
      else if (element instanceof Map) out.push(this.document(element, null));
      else if (this.included) out.push(element);
    }
    return out;
  }

  private cut(array: readonly Value[]): readonly Value[] {
    if (!this.slice) return array;
    const { skip, limit } = this.slice;
    const from = skip < 0 ? Math.max(0, skip + array.length) : skip;
    return array.slice(from, from + limit);
  }
}

function matched(field: string, array: readonly Value[], positional: PositionalMatch): Value[] {
  const { index } = positional;
  if (index === undefined) {
    throw badValue(
      `positional operator (${field}.$) requires corresponding field in query specifier`,
    );
  }
  if (index >= array.length) throw badValue('positional operator element mismatch');
  return [array[index]];
}
