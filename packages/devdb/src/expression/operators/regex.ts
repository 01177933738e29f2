import { DbError } from '../../errors.js';
import { toRegExp } from '../../values/pattern.js';
import { typeName } from '../../values/type-names.js';
import { BSONRegExp, type Doc, doc, int32, isDoc, type Value } from '../../values/value.js';
import { type Evaluated, type Expression, isNullish } from '../expression.js';
import type { Operator } from '../operator.js';
import type { Scope } from '../scope.js';

/** `$regexMatch`, `$regexFind`, `$regexFindAll`; places are counted in code points. */
export const REGEX: readonly Operator[] = [
  regexOperator('$regexMatch', false, (regExp, text) => regExp.test(text)),
  regexOperator('$regexFind', null, (regExp, text) => {
    const found = regExp.exec(text);
    return found ? describe(found, text) : null;
  }),
  regexOperator('$regexFindAll', [], findAll),
];

type Search = (regExp: RegExp, text: string) => Evaluated;

function regexOperator(name: string, nothing: Value, search: Search): Operator {
  return {
    name,
    compile: (operand, scope) => compileSearch(name, operand, scope, nothing, search),
  };
}

function compileSearch(
  name: string,
  operand: Value,
  scope: Scope,
  nothing: Value,
  search: Search,
): Expression {
  if (!isDoc(operand)) {
    throw new DbError(
      51103,
      `${name} expects an object of named arguments but found: ${typeName(operand)}`,
    );
  }
  for (const key of operand.keys()) {
    if (key !== 'input' && key !== 'regex' && key !== 'options') {
      throw new DbError(31024, `${name} found an unknown argument: ${key}`);
    }
  }
  if (!operand.has('input')) throw new DbError(31022, `${name} requires 'input' parameter`);
  if (!operand.has('regex')) throw new DbError(31023, `${name} requires 'regex' parameter`);
  const input = scope.compile(operand.get('input'));
  const regex = scope.compile(operand.get('regex'));
  const options = operand.has('options') ? scope.compile(operand.get('options')) : undefined;
  const pattern = regex.constant && (options?.constant ?? true) ? remembered() : fresh;
  return scope.computed(options ? [input, regex, options] : [input, regex], (root) => {
    const text = input.evaluate(root);
    const source = regex.evaluate(root);
    const flags = options ? options.evaluate(root) : null;
    const compiled = pattern(name, source, flags);
    if (!isNullish(text) && typeof text !== 'string') {
      throw new DbError(51104, `${name} needs 'input' to be of type string`);
    }
    return isNullish(text) || !compiled ? nothing : search(compiled, text);
  });
}

type Compile = (name: string, source: Evaluated, flags: Evaluated) => RegExp | undefined;

/** A pattern that is the same for every document is compiled once, on first use. */
function remembered(): Compile {
  let known: { regExp: RegExp | undefined } | undefined;
  return (name, source, flags) => {
    known ??= { regExp: fresh(name, source, flags) };
    return known.regExp;
  };
}

function fresh(name: string, source: Evaluated, flags: Evaluated): RegExp | undefined {
  if (!isNullish(flags) && typeof flags !== 'string') {
    throw new DbError(51106, `${name} needs 'options' to be of type string`);
  }
  if (isNullish(source)) return undefined;
  let pattern: string;
  let options = flags ?? '';
  if (source instanceof BSONRegExp) {
    if (options !== '' && source.options !== '') {
      throw new DbError(
        51107,
        `${name} found regex option(s) specified in both 'regex' and 'option' fields`,
      );
    }
    pattern = source.pattern;
    options = (options as string) || source.options;
  } else if (typeof source === 'string') pattern = source;
  else throw new DbError(51105, `${name} needs 'regex' to be of type string or regex`);
  if (pattern.includes('\0')) {
    throw new DbError(51109, `${name}: regular expression cannot contain an embedded null byte`);
  }
  for (const flag of options as string) {
    if (!'imsx'.includes(flag))
      throw new DbError(51108, `${name} invalid flag in regex options: ${flag}`);
  }
  try {
    return toRegExp(pattern, options as string);
  } catch (error) {
    throw new DbError(51111, `Invalid Regex in ${name}: ${(error as Error).message}`);
  }
}

function describe(found: RegExpExecArray, text: string): Doc {
  const before = text.slice(0, found.index);
  return doc(
    ['match', found[0]],
    ['idx', int32([...before].length)],
    ['captures', found.slice(1).map((capture) => capture ?? null)],
  );
}

function findAll(regExp: RegExp, text: string): Evaluated {
  const global = new RegExp(regExp.source, `${regExp.flags}g`);
  // MongoDB looks no further than the last character: nothing is found behind it, but in an empty text.
  return [...text.matchAll(global)]
    .filter((found) => found.index < text.length || text === '')
    .map((found) => describe(found as RegExpExecArray, text));
}
