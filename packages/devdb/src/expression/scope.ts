import { DbError } from '../errors.js';
import { type Doc, MISSING, type Timestamp, type Value } from '../values/value.js';
import { type Evaluated, type Expression, literal } from './expression.js';

/** What the surroundings give to expressions. */
export interface ExpressionEnv {
  /** `$$NOW`: one instant for the whole command, from the server's clock. */
  readonly now: Date;
  /** `$$CLUSTER_TIME`; without it the variable is refused. */
  readonly clusterTime?: Timestamp | undefined;
  /** Whether `$$NOW` and `$$CLUSTER_TIME` are refused where they are read (51144). */
  readonly hasNoTime?: boolean | undefined;
  /** Variables that are constant for the whole command, such as `$$new` of a `$merge`. */
  readonly variables?: ReadonlyMap<string, Value> | undefined;
  /** The scope of the stage that the expression stands in, where it is not a command's own. */
  readonly scope?: Scope | undefined;
}

/** A place for the value of a variable that changes while a command runs. */
export interface Slot {
  set(value: Evaluated): void;
}

/**
 * The variables that an expression may name, and where their values are kept. Each declaration has
 * a slot of its own, so that reading a variable is one array access. Slots are shared by everything
 * compiled in one scope tree: evaluation is synchronous and never re-enters itself.
 */
export class Scope {
  private constructor(
    private readonly frame: Evaluated[],
    private readonly names: ReadonlyMap<string, Expression>,
    private readonly constants: (() => void)[],
    /** Compiles an operand in a scope; handed down so that operators need not import the compiler. */
    private readonly compiler: (value: Value, scope: Scope) => Expression,
    /** What a `$path` starts from; undefined for the root document. */
    readonly current: Expression | undefined,
  ) {}

  /** The outermost scope of a command. */
  static of(env: ExpressionEnv, compiler: (value: Value, scope: Scope) => Expression): Scope {
    const names = new Map<string, Expression>([
      ['ROOT', { evaluate: (root) => root, constant: false }],
      ['REMOVE', literal(MISSING)],
      ['NOW', env.hasNoTime ? unavailable('NOW') : literal(env.now)],
    ]);
    if (env.hasNoTime) names.set('CLUSTER_TIME', unavailable('CLUSTER_TIME'));
    else if (env.clusterTime) names.set('CLUSTER_TIME', literal(env.clusterTime));
    for (const [name, value] of env.variables ?? []) names.set(name, literal(value));
    return new Scope([], names, [], compiler, undefined);
  }

  /** Compiles an operand here. */
  compile(value: Value): Expression {
    return this.compiler(value, this);
  }

  /** The variable of that name; throws 17276 where there is none. */
  lookup(name: string): Expression {
    if (name === 'CURRENT') return this.current ?? this.lookup('ROOT');
    const found = this.names.get(name);
    if (!found) throw new DbError(17276, `Use of undefined variable: ${name}`);
    return found;
  }

  /** A scope with one more variable and the slot that holds its value. */
  declare(name: string): { scope: Scope; slot: Slot } {
    const { frame } = this;
    const index = frame.push(MISSING) - 1;
    const slot: Slot = {
      set(value) {
        frame[index] = value;
      },
    };
    const variable: Expression = { evaluate: () => frame[index] as Evaluated, constant: false };
    return { scope: this.with(name, variable), slot };
  }

  /** A scope in which one more name stands for a constant. */
  define(name: string, value: Evaluated): Scope {
    return this.with(name, literal(value));
  }

  private with(name: string, variable: Expression): Scope {
    const { frame, constants, compiler } = this;
    if (name === 'CURRENT') return new Scope(frame, this.names, constants, compiler, variable);
    const names = new Map(this.names).set(name, variable);
    return new Scope(frame, names, constants, compiler, this.current);
  }

  /**
   * An expression over operands. When all of them are constant so is the result: it is computed
   * once, either on first use or by {@link foldConstants}.
   */
  computed(operands: readonly Expression[], evaluate: (root: Doc) => Evaluated): Expression {
    if (!operands.every((operand) => operand.constant)) return { evaluate, constant: false };
    let known: { value: Evaluated } | undefined;
    const once = (root: Doc): Evaluated => {
      known ??= { value: evaluate(root) };
      return known.value;
    };
    this.constants.push(() => once(new Map()));
    return { evaluate: once, constant: true };
  }

  /**
   * Computes every constant subexpression compiled so far. MongoDB does this after parsing, so that
   * `{$divide: [1, 'x']}` fails even where no document is read; a pipeline update does not do it.
   */
  foldConstants(): void {
    for (const fold of this.constants.splice(0)) fold();
  }
}

/** A variable that is known but has no value where the command stands. */
function unavailable(name: string): Expression {
  return {
    constant: false,
    evaluate() {
      throw new DbError(51144, `Builtin variable '$$${name}' is not available`);
    },
  };
}
