import { Writable } from 'node:stream';
import pc from 'picocolors';
import { runFlow } from '../../packages/cli/dist/main.js';

/** What a command line left, run in this process: for many cases at the price of one. No signals, no real streams. */
export async function flowHere(
  args: readonly string[],
  surroundings: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
): Promise<{ code: number; stdout: string; stderr: string }> {
  const texts = { out: '', err: '' };
  const into = (name: 'out' | 'err') =>
    new Writable({
      write(chunk, _encoding, done) {
        texts[name] += String(chunk);
        done();
      },
    });
  const code = await runFlow(args, {
    cwd: surroundings.cwd,
    env: surroundings.env ?? {},
    terminal: {
      out: into('out'),
      err: into('err'),
      isInteractive: false,
      columns: 100,
      colors: pc.createColors(false),
      interrupted: new AbortController().signal,
    },
  });
  return { code, stdout: texts.out, stderr: texts.err };
}
