import { DbError } from '../../errors.js';
import { ACCUMULATORS, type Accumulator } from '../../expression/accumulation/accumulators.js';
import type { Expression } from '../../expression/expression.js';
import type { Scope } from '../../expression/scope.js';
import { type Doc, isDoc, type Value } from '../../values/value.js';

/** A field of a group: what is collected and how. */
export interface AccumulatedField {
  readonly name: string;
  readonly operand: Expression;
  readonly start: () => Accumulator;
}

/** Compiles `name: {$accumulator: <expression>}`. */
export function compileAccumulated(name: string, value: Value, scope: Scope): AccumulatedField {
  if (name.includes('.')) {
    throw new DbError(40235, `The field name '${name}' cannot contain '.'`);
  }
  if (name.startsWith('$')) {
    throw new DbError(40236, `The field name '${name}' cannot be an operator name`);
  }
  const operator = isDoc(value) ? value.keys().next().value : undefined;
  if (!isDoc(value) || !operator?.startsWith('$')) {
    throw new DbError(40234, `The field '${name}' must be an accumulator object`);
  }
  if (value.size !== 1) {
    throw new DbError(40238, `The field '${name}' must specify one accumulator`);
  }
  const start = ACCUMULATORS.get(operator);
  if (!start) throw new DbError(15952, `unknown group operator '${operator}'`);
  const operand = value.get(operator);
  if (Array.isArray(operand)) {
    throw new DbError(40237, `The ${operator} accumulator is a unary operator`);
  }
  return { name, operand: scope.compile(operand), start };
}

/** The fields of one group while its documents come in. */
export class Group {
  private readonly running: Accumulator[];

  constructor(private readonly fields: readonly AccumulatedField[]) {
    this.running = fields.map((field) => field.start());
  }

  add(document: Doc): void {
    for (let i = 0; i < this.fields.length; i++) {
      this.running[i]!.add(this.fields[i]!.operand.evaluate(document));
    }
  }

  /** The finished document, with the group's `_id` first. */
  finish(id: Value): Doc {
    const result: Doc = new Map([['_id', id]]);
    for (let i = 0; i < this.fields.length; i++) {
      result.set(this.fields[i]!.name, this.running[i]!.result());
    }
    return result;
  }
}
