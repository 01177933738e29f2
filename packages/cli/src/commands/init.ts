import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { ConflictError } from '@flowline/core';
import { idOfClassName, isId } from '@flowline/core/internal';
import type { Command } from '../command-line/command.js';
import { toJson } from '../output/shapes.js';
import { orSayWhichFile } from '../session/file-fault.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

export const command: Command = {
  positionals: [{ name: 'folder', describe: 'where (default: here)', completes: 'path' }],
  examples: [['flow init', 'flow.config.ts and jobs/hello.job.ts, here']],
  notes:
    'Nothing that exists is overwritten. Then: flow dev, and in another terminal: flow run hello --wait',
  async run(args, { terminal, cwd }) {
    const root = resolve(cwd, args.folder ?? '.');
    const name = idOfClassName(basename(root));
    const project = isId(name) ? name : 'my-project';
    const files = [
      { path: join(root, 'flow.config.ts'), text: configText(project) },
      { path: join(root, 'jobs', 'hello.job.ts'), text: jobText },
    ];
    const present = files.filter(({ path }) => existsSync(path));
    if (present.length > 0) {
      const names = present.map(({ path }) => relative(cwd, path)).join(' and ');
      throw new ConflictError(
        `${names} ${present.length === 1 ? 'is' : 'are'} here already; nothing was written`,
        {
          hint: 'Remove it first, or name another folder: flow init <folder>.',
        },
      );
    }
    for (const { path, text } of files) {
      await orSayWhichFile(path, mkdir(dirname(path), { recursive: true }));
      // wx: a file that appears between the check and the write is not overwritten either.
      await orSayWhichFile(path, writeFile(path, text, { flag: 'wx' }));
    }
    const written = files.map(({ path }) => relative(cwd, path));
    if (args.json) print(terminal, toJson({ project, written }));
    else {
      print(terminal, `wrote ${written.join(' and ')}`);
      print(terminal, 'next: "flow dev" here, and "flow run hello --wait" in another terminal');
    }
    return exitCodes.done;
  },
};

function configText(project: string): string {
  return `import { defineConfig } from '@flowline/cli';

export default defineConfig({
  project: '${project}',
  jobs: ['jobs/**/*.job.ts'],
});
`;
}

const jobText = `import { Job, type JobContext } from '@flowline/core';

@Job({ schedule: { every: '1m' } })
export class Hello {
  async run(ctx: JobContext) {
    ctx.log.info('Hello from Flowline');
    return { said: 'hello' };
  }
}
`;
