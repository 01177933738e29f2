/**
 * From what Node throws when a file of the user's does not load, to a problem that says which file, which line, and
 * what to do. Each known trap has one explainer; they are asked in order, and the last one always answers.
 */
import { isFlowError } from '@flowline/core';
import {
  codeFrame,
  type SyntaxFault,
  toSourceSyntaxError,
} from '../compile/source-syntax-error.js';
import { loadCompiler } from '../compile/transpile.js';
import { explainCycle } from './explain-cycle.js';
import { explainMissingExport } from './explain-missing-export.js';
import { explainMissingModule } from './explain-missing-module.js';
import {
  displayPath,
  type Explanation,
  type FailureContext,
  type LoadProblem,
} from './explanation.js';
import { readStack, userFrames, userStack } from './read-stack.js';
import { followImport, lineAt, readSource, scanImports } from './scan-imports.js';

/** Explains a failure. Never throws: what it does not know is reported as thrown by the user's code, with its stack. */
export function explainFailure(error: unknown, context: FailureContext): LoadProblem {
  const explain = [
    explainKnownFault,
    explainMissingExport,
    explainCycle,
    explainMissingModule,
    explainPlainSyntax,
  ];
  let explanation: Explanation | undefined;
  for (const step of explain) {
    explanation = step(error, context);
    if (explanation !== undefined) break;
  }
  const { file, ...rest } = explanation ?? explainThrown(error, context);
  return { severity: 'error', path: displayPath(file, context.root), file, ...rest };
}

type LoaderFault =
  | SyntaxFault
  | { readonly kind: 'tsconfig' }
  | { readonly kind: 'required-await'; readonly file: string };

/** What the loader itself found wrong. */
function explainKnownFault(error: unknown, context: FailureContext): Explanation | undefined {
  const fault = (error as { flowLoad?: LoaderFault } | null)?.flowLoad;
  if (fault === undefined) return undefined;
  switch (fault.kind) {
    case 'syntax': {
      const { file, line, column, frame, reason } = fault;
      return { code: 'load-syntax', message: reason, file, line, column, frame };
    }
    case 'tsconfig':
      return { code: 'load-tsconfig', message: messageOf(error), file: context.entry };
    case 'required-await':
      return {
        code: 'load-required-await',
        message: messageOf(error),
        hint: 'Set "type": "module" in the package.json of the code that imports it, or move the await into a function.',
        file: fault.file,
      };
  }
}

/**
 * JavaScript that Node itself could not parse; its error does not say where. The file is the first one on the way from
 * the entry that does not parse here either.
 */
function explainPlainSyntax(error: unknown, { entry }: FailureContext): Explanation | undefined {
  if (!(error instanceof SyntaxError)) return undefined;
  const files = [entry];
  for (const file of files) {
    const source = readSource(file);
    const fault = /\.[cm]?js$/.test(file) ? javaScriptFault(file, source) : undefined;
    if (fault !== undefined) {
      const { line, column, frame } = fault;
      const isDecorator = source.split('\n')[line - 1]?.trimStart().startsWith('@') === true;
      const hint = 'Decorators need compiling: rename the file to .ts (or .mts, .cts).';
      const message = error.message;
      const place = { file, line, column, frame };
      return { code: 'load-syntax', message, ...(isDecorator ? { hint } : {}), ...place };
    }
    for (const { specifier } of scanImports(source)) {
      const next = followImport(specifier, file);
      if (next !== undefined && !files.includes(next)) files.push(next);
    }
  }
  return undefined;
}

function javaScriptFault(file: string, source: string): SyntaxFault | undefined {
  // swc reads decorators in JavaScript too; Node does not.
  const decorator = /^[ \t]*@\w/m.exec(source);
  if (decorator !== null) {
    const line = lineAt(source, decorator.index);
    const column = decorator[0].length - 1;
    const frame = codeFrame(source, line, column);
    return { kind: 'syntax', file, line, column, frame, reason: 'decorator in JavaScript' };
  }
  try {
    loadCompiler().parseSync(source, { syntax: 'ecmascript' });
    return undefined;
  } catch (thrown) {
    return (toSourceSyntaxError(thrown, file, source) as { flowLoad?: SyntaxFault }).flowLoad;
  }
}

/** The user's code ran, and threw. */
function explainThrown(error: unknown, { entry, root }: FailureContext): Explanation {
  const frames = userFrames(readStack(error));
  // What a decorator throws passes through the compiler's helper first, which stands in the same file but not in the source.
  const isDecorator = isFlowError(error, 'decorator');
  const frame = isDecorator ? (frames.find((each) => each.isTopLevel) ?? frames[0]) : frames[0];
  const file = frame?.file ?? entry;
  const via = file === entry ? '' : `, while ${displayPath(entry, root)} was loading`;
  const position =
    frame === undefined
      ? {}
      : {
          line: frame.line,
          column: frame.column,
          frame: codeFrame(readSource(file), frame.line, frame.column),
        };
  const stack = userStack(error);
  const hint = isFlowError(error) ? error.hint : undefined;
  return {
    code: 'load-threw',
    message: `threw at import${via}: ${messageOf(error)}`,
    ...(hint === undefined ? {} : { hint }),
    file,
    ...position,
    ...(stack === undefined ? {} : { stack }),
  };
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === 'Error' || isFlowError(error) || 'flowLoad' in error
    ? error.message
    : `${error.name}: ${error.message}`;
}
