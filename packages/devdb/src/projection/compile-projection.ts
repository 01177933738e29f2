import { badValue } from '../errors.js';
import { compileFilter, type Matcher } from '../query/compile-filter.js';
import type { FilterEnv } from '../query/filter-env.js';
import { formatValue } from '../values/format.js';
import { toDouble } from '../values/numbers.js';
import { type Doc, isDoc, isNumeric, isTruthy, type Value } from '../values/value.js';
import { type PositionalMatch, ProjectionTree } from './projection-tree.js';

/** A compiled projection: the part of a document that a query answers with. */
export type Projection = (document: Doc) => Doc;

/**
 * Compiles the projection of a find or a findAndModify. The filter is needed for the positional
 * `$`. Throws BadValue (2) for a mix of inclusion and exclusion and for what MongoDB 4.2 does not
 * take; expressions are refused as there.
 */
export function compileProjection(specification: Doc, filter: Doc, env: FilterEnv): Projection {
  if (specification.size === 0) return (document) => document;
  return new ProjectionCompiler(filter, env).compile(specification);
}

class ProjectionCompiler {
  private readonly tree = new ProjectionTree();
  private readonly elemMatchers = new Map<string, Matcher>();
  private readonly textScores: string[] = [];
  private isInclusion: boolean | null = null;
  private includesId = true;
  private positional: Matcher | null = null;

  constructor(
    private readonly filter: Doc,
    private readonly env: FilterEnv,
  ) {}

  compile(specification: Doc): Projection {
    for (const [path, operand] of specification) {
      if (isDoc(operand)) this.operator(path, operand);
      else if (path === '_id' && !isTruthy(operand)) this.includesId = false;
      else this.flag(path, isTruthy(operand));
    }
    return (document) => this.project(document);
  }

  private flag(path: string, include: boolean): void {
    if (/\.\$(\.|$)/.test(path)) this.positionalField(path, include);
    if (this.isInclusion !== null && this.isInclusion !== include) {
      throw badValue('Projection cannot have a mix of inclusion and exclusion.');
    }
    this.isInclusion = include;
    this.tree.add(pathOf(path), include);
  }

  private positionalField(path: string, include: boolean): void {
    if (!include) throw badValue('Cannot exclude array elements with the positional operator.');
    if (this.positional) {
      throw badValue('Cannot specify more than one positional proj. per query.');
    }
    if (this.elemMatchers.size > 0) {
      throw badValue('Cannot specify positional operator and $elemMatch.');
    }
    if (path.split('.').filter((part) => part === '$').length > 1) {
      throw badValue(
        `Positional projection '${path}' contains the positional operator more than once.`,
      );
    }
    if (!namesField(this.filter, path.split('.')[0]!)) {
      throw badValue(`Positional projection '${path}' does not match the query document.`);
    }
    this.positional = compileFilter(this.filter, this.env);
  }

  private operator(path: string, operators: Doc): void {
    const [operator, operand] = [...operators][0] ?? ['', undefined];
    if (operators.size !== 1) throw badValue(`>1 field in obj: ${formatValue(operators)}`);
    if (operator === '$slice') this.tree.addSlice(pathOf(path), ...sliceOf(operand));
    else if (operator === '$elemMatch') this.elemMatch(path, operand);
    else if (operator === '$meta' && operand === 'textScore') this.textScores.push(path);
    else throw badValue(`Unsupported projection option: ${path}: ${formatValue(operators)}`);
  }

  private elemMatch(path: string, operand: Value): void {
    if (!isDoc(operand)) throw badValue('elemMatch: Invalid argument, object required.');
    if (this.positional) throw badValue('Cannot specify positional operator and $elemMatch.');
    if (path.includes('.')) {
      throw badValue('Cannot use $elemMatch projection on a nested field.');
    }
    const condition: Doc = new Map([['$elemMatch', operand]]);
    this.elemMatchers.set(path, compileFilter(new Map([[path, condition]]), this.env));
    this.tree.add([path], true);
  }

  private project(document: Doc): Doc {
    const positional = this.positional?.matchWithPosition(document) ?? null;
    const out: Doc = new Map();
    for (const [field, value] of document) {
      if (field === '_id') {
        if (this.includesId) out.set(field, value);
      } else this.field(out, document, field, value, positional);
    }
    // There is no text index, so that no document has a score.
    for (const field of this.textScores) {
      out.delete(field);
      out.set(field, 0);
    }
    return out;
  }

  private field(
    out: Doc,
    document: Doc,
    field: string,
    value: Value,
    positional: PositionalMatch | null,
  ): void {
    const matcher = this.elemMatchers.get(field);
    if (!matcher) {
      this.tree.project(out, field, value, positional);
      return;
    }
    const found = matcher.matchWithPosition(document);
    if (found?.index === undefined || !Array.isArray(value)) return;
    this.tree.project(out, field, [value[found.index]], positional);
  }
}

/** The parts of a path; one that ends in a dot ends before it. */
function pathOf(path: string): string[] {
  const parts = path.split('.');
  if (parts.at(-1) === '') parts.pop();
  return parts.length === 0 ? [''] : parts;
}

function sliceOf(operand: Value): [skip: number, limit: number] {
  if (isNumeric(operand)) {
    const count = Math.trunc(toDouble(operand));
    return count < 0 ? [count, -count] : [0, count];
  }
  if (!Array.isArray(operand)) {
    throw badValue('$slice only supports numbers and [skip, limit] arrays');
  }
  if (operand.length !== 2) throw badValue('$slice array wrong size');
  const [skip, limit] = operand;
  const count = isNumeric(limit) ? Math.trunc(toDouble(limit)) : 0;
  if (count <= 0) throw badValue('$slice limit must be positive');
  return [isNumeric(skip) ? Math.trunc(toDouble(skip)) : 0, count];
}

/** Whether a filter says something of a field or of what is below it. */
function namesField(filter: Doc, field: string): boolean {
  return [...filter].some(([key, operand]) => {
    if (!key.startsWith('$')) return key.split('.')[0] === field;
    return (
      Array.isArray(operand) && operand.some((clause) => isDoc(clause) && namesField(clause, field))
    );
  });
}
