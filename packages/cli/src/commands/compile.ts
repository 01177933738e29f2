import { writeFile } from 'node:fs/promises';
import { relative, resolve } from 'node:path';
import type { Command } from '../command-line/command.js';
import { graphMermaid, graphText } from '../output/graph-text.js';
import { problemCount, problemJson, problemText } from '../output/problem-text.js';
import { toJson } from '../output/shapes.js';
import { counted } from '../output/words.js';
import { orSayWhichFile } from '../session/file-fault.js';
import { loadProject } from '../session/load-project.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { note, print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [
    {
      name: 'paths',
      describe: 'files, folders or globs instead of those of the config',
      variadic: true,
      completes: 'path',
    },
  ],
  options: {
    out: {
      type: 'string',
      describe: 'write the compiled definitions to this file, for review',
      requiresArg: true,
    },
    format: {
      type: 'string',
      choices: ['text', 'mermaid'],
      describe: 'how to print the graph (default text)',
    },
  },
  examples: [
    ['flow compile', 'all problems at once, with file and line; then the graph'],
    ['flow compile packages/billing/src --out dags.json', 'one part, written as JSON'],
    ['flow compile --format mermaid', 'a flowchart for a README'],
  ],
  notes: 'Needs no database. Exit status 2 when there are errors.',
  async run(args, context) {
    const { terminal, cwd } = context;
    const project = await loadProject(args, args.paths, context);
    const { dags, problems, dayWarnings, hasErrors } = project;
    const compiled = {
      dags: dags.map(({ definition, version }) => ({ ...definition, version })),
      problems: problems.map(problemJson),
    };
    const said = [...problems, ...dayWarnings];
    if (said.length > 0 && !args.json) note(terminal, `${problemText(terminal, said, cwd)}\n`);
    if (args.out !== undefined && !hasErrors) {
      const path = resolve(cwd, args.out);
      // For review: what depends on the day is not a part of it.
      await orSayWhichFile(path, writeFile(path, `${toJson(compiled)}\n`));
      note(terminal, `wrote ${counted(dags.length, 'DAG')} to ${relative(cwd, path)}`);
    }
    if (args.json) print(terminal, toJson({ ...compiled, warnings: dayWarnings.map(problemJson) }));
    else if (args.format === 'mermaid')
      print(terminal, graphMermaid(dags.map(({ definition }) => definition)));
    else if (dags.length > 0) {
      print(
        terminal,
        dags
          .map(({ definition, version }) => graphText(terminal, definition, version))
          .join('\n\n'),
      );
    }
    if (hasErrors)
      note(terminal, `${problemCount(problems)} in ${counted(project.files.length, 'file')}`);
    return hasErrors ? exitCodes.usage : exitCodes.done;
  },
};
