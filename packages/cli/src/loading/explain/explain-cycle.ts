import { displayPath, type Explanation, type FailureContext } from './explanation.js';
import { readStack, userFrames } from './read-stack.js';
import { followImport, namesInClause, readSource, scanImports } from './scan-imports.js';

/** Job files that import each other: "Cannot access 'A' before initialization" becomes a message that names them. */
export function explainCycle(error: unknown, { root }: FailureContext): Explanation | undefined {
  if (!(error instanceof ReferenceError)) return undefined;
  const name = /^Cannot access '(.+)' before initialization$/.exec(error.message)?.[1];
  if (name === undefined) return undefined;
  // Under CommonJS the innermost frame is the getter of the export, in the file that exports.
  for (const frame of userFrames(readStack(error))) {
    const taken = scanImports(readSource(frame.file)).find(({ clause }) =>
      namesInClause(clause, name),
    );
    const source = taken && followImport(taken.specifier, frame.file);
    if (source === undefined) continue;
    const wayBack = findWay(source, frame.file);
    if (wayBack === undefined) continue;
    const show = (file: string) => displayPath(file, root);
    const owner = wayBack.find((file) => declares(file, name)) ?? source;
    const circle = [frame.file, ...wayBack].map(show).join(' -> ');
    return {
      code: 'load-circular-import',
      message: `${show(frame.file)} and ${show(owner)} import each other (${circle}), so ${name} does not exist yet where ${show(frame.file)} uses it`,
      hint: `Write @DependsOn(() => ${name}), or move what both files need into a third one.`,
      file: frame.file,
      line: frame.line,
    };
  }
  return undefined;
}

/** The shortest chain of imports from one file to another, both included. */
function findWay(from: string, to: string): string[] | undefined {
  const ways: string[][] = [[from]];
  const seen = new Set([from]);
  for (const way of ways) {
    const last = way.at(-1) ?? from;
    if (last === to) return way;
    for (const { specifier } of scanImports(readSource(last))) {
      const next = followImport(specifier, last);
      if (next === undefined || seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return undefined;
}

function declares(file: string, name: string): boolean {
  return new RegExp(`\\b(?:class|const|let|var|function)\\s+${name}\\b`).test(readSource(file));
}
