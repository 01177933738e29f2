/**
 * swc leaves the calls of legacy decorators out of its source map, so a stack taken in `Job()` would point to the
 * closing brace of some class. This puts them in: decorators are found in the syntax tree, their compiled calls in the
 * compiled text, and the two are paired in order, as long as their names agree.
 */
import type { ParseOptions } from '@swc/core';
import { decodeMappings, encodeMappings } from './source-map-lines.js';

/** A decorator in the source; line and column from 0. */
interface DecoratorPosition {
  readonly name: string;
  readonly line: number;
  readonly column: number;
}

type Parse = (source: string, options: ParseOptions) => unknown;

interface RawMap {
  readonly mappings: string;
}

/** The map of a compiled file with its decorator calls in it; the same map where the file has none. */
export function mapDecorators<M extends RawMap>(
  map: M,
  code: string,
  source: string,
  options: ParseOptions,
  parse: Parse,
): M {
  const calls = findCalls(code);
  if (calls.length === 0) return map;
  const positions = findDecorators(source, options, parse);
  const lines = decodeMappings(map.mappings);
  for (const [index, call] of calls.entries()) {
    const position = positions[index];
    if (position?.name !== call.name) break;
    for (const { line, column } of call.places) {
      const segment = [column, 0, position.line, position.column];
      lines[line] = [...(lines[line] ?? []), segment].sort(([a = 0], [b = 0]) => a - b);
    }
  }
  return { ...map, mappings: encodeMappings(lines) };
}

interface CompiledCall {
  readonly name: string;
  /** Where it stands in the compiled code, from 0; with the first of a class, the call that applies them all. */
  readonly places: readonly { readonly line: number; readonly column: number }[];
}

/** The elements of each `_ts_decorate([...])`, without those that the compiler added. */
function findCalls(code: string): CompiledCall[] {
  const calls: CompiledCall[] = [];
  let indent: string | undefined;
  let applied: CompiledCall['places'] = [];
  for (const [line, text] of code.split('\n').entries()) {
    if (indent === undefined) {
      indent = /^(\s*).*\b_ts_decorate\(\[$/.exec(text)?.[1];
      applied = [{ line, column: text.lastIndexOf('_ts_decorate') }];
      continue;
    }
    if (text.startsWith(`${indent}]`)) {
      indent = undefined;
      continue;
    }
    const element = text.slice(indent.length);
    if (!/^ {4}\S/.test(element) || /^ {4}(_ts_metadata|_ts_param|[)\]}])/.test(element)) continue;
    const name = /^ {4}(?:\(0, )?(?:[\w$]+\.)*([\w$]+)/.exec(element)?.[1] ?? '';
    calls.push({ name, places: [...applied, { line, column: 0 }] });
    applied = [];
  }
  return calls;
}

interface Node {
  readonly type?: string;
  readonly span?: { readonly start: number };
  readonly decorators?: readonly Node[];
  readonly body?: unknown;
  readonly function?: Node;
  readonly expression?: Node;
  readonly callee?: Node;
  readonly property?: Node;
  readonly value?: unknown;
}

/** The decorators of classes and members in the order in which their calls are compiled. */
function findDecorators(source: string, options: ParseOptions, parse: Parse): DecoratorPosition[] {
  // swc counts positions on and on from file to file: the semicolon in front says where this one begins.
  // A #! line would not be one behind it.
  const text = source.startsWith('#!') ? `//${source.slice(2)}` : source;
  const module = parse(`;${text}`, options) as { body: Node[] };
  const start = (module.body[0]?.span?.start ?? 0) + 1;
  const bytes = Buffer.from(source);
  const found: DecoratorPosition[] = [];
  const note = (decorators: readonly Node[] = []) => {
    for (const { span, expression } of decorators) {
      const before = bytes.toString('utf8', 0, (span?.start ?? start) - start);
      const lineStart = before.lastIndexOf('\n') + 1;
      found.push({
        name: nameOf(expression),
        line: before.split('\n').length - 1,
        column: before.length - lineStart,
      });
    }
  };
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const each of value) visit(each);
      return;
    }
    if (typeof value !== 'object' || value === null) return;
    for (const child of Object.values(value)) visit(child);
    const node = value as Node;
    if (node.type !== 'ClassDeclaration' && node.type !== 'ClassExpression') return;
    for (const member of node.body as Node[]) {
      note(member.decorators ?? member.function?.decorators);
    }
    note(node.decorators);
  };
  visit(module.body);
  return found;
}

function nameOf(expression: Node | undefined): string {
  // `(Job() as never)` compiles to `Job()`.
  if (/^(Parenthesis|Ts\w+)Expression$/.test(expression?.type ?? '')) {
    return nameOf(expression?.expression);
  }
  const target = expression?.type === 'CallExpression' ? expression.callee : expression;
  const named = target?.type === 'MemberExpression' ? target.property : target;
  return typeof named?.value === 'string' ? named.value : '';
}
