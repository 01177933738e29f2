import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const here = dirname(fileURLToPath(import.meta.url));
const fixtures = join(here, '../fixtures/loading');
const packages = join(here, '../../packages');

/** Workspace packages that npm would link, by fixture. */
const workspaces: Record<string, Record<string, string>> = {
  esm: { '@acme/rates': 'packages/rates', '@acme/legacy-rates': 'packages/legacy-rates' },
  cjs: { '@acme/rates': 'packages/rates' },
  monorepo: { '@mono/orders': 'packages/orders', '@mono/ledger': 'packages/ledger' },
};

/** A user's project in a folder of its own, outside of our repository, set up as `npm install` would. */
export interface Project {
  readonly root: string;
  file(path: string): string;
  write(path: string, text: string): Promise<void>;
  remove(): Promise<void>;
}

/** Copies a fixture and links its packages and, unless told otherwise, ours into it. */
export async function openProject(
  fixture: string,
  { hasFlowline = true }: { readonly hasFlowline?: boolean } = {},
): Promise<Project> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'flow-loading-')));
  await cp(join(fixtures, fixture), root, { recursive: true });
  const links = {
    ...(hasFlowline
      ? { '@flowline/core': join(packages, 'core'), '@flowline/cli': join(packages, 'cli') }
      : {}),
    ...workspaces[fixture],
  };
  for (const [name, target] of Object.entries(links)) {
    const link = join(root, 'node_modules', name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(target.startsWith('/') ? target : join(root, target), link, 'dir');
  }
  return {
    root,
    file: (path) => join(root, path),
    async write(path, text) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    },
    remove: () => rm(root, { recursive: true }),
  };
}

export interface LoadedClass {
  readonly name: string;
  readonly kind: 'dag' | 'job';
  readonly file: string;
  readonly line: number;
  readonly seen?: unknown;
  readonly dependenciesAreListed: boolean;
}

export interface Answer {
  readonly files: string[];
  readonly classes: LoadedClass[];
  readonly problems: {
    code: string;
    path: string;
    message: string;
    hint?: string;
    file: string;
    line?: number;
    column?: number;
    frame?: string;
    stack?: string;
  }[];
  readonly stack?: string;
  readonly thrown?: { name: string; code: string; message: string; hint?: string };
}

export interface Request {
  readonly cwd?: string;
  readonly paths?: readonly string[];
  readonly root?: string;
  readonly jobs?: readonly string[];
  /** Name of a class whose `run` is called after loading. */
  readonly call?: string;
}

/** Loads jobs in a fresh process that works in `cwd`. */
export async function loadIn(cwd: string, request: Request): Promise<Answer> {
  const [answer] = await loadAllIn(cwd, [request]);
  if (answer === undefined) throw new Error('the child process gave no answer');
  return answer;
}

/** The same for several requests in one process, one after the other. */
export async function loadAllIn(cwd: string, requests: readonly Request[]): Promise<Answer[]> {
  return (await runScript('load-and-print.mjs', requests, cwd)) as Answer[];
}

export interface SettlingAnswer {
  readonly settings?: Record<string, unknown>;
  readonly thrown?: { name: string; code: string; message: string; hint?: string };
}

/** Loads the configs of several folders in one fresh process. */
export async function settleAll(
  requests: readonly { readonly cwd: string; readonly path?: string }[],
): Promise<SettlingAnswer[]> {
  return (await runScript('settle-and-print.mjs', requests, tmpdir())) as SettlingAnswer[];
}

async function runScript(name: string, requests: unknown, cwd: string): Promise<unknown> {
  // FLOW_TEST_NODE: another Node's binary, to try the loader on more than the one at hand.
  const node = process.env.FLOW_TEST_NODE ?? process.execPath;
  const args = [join(here, name), JSON.stringify(requests)];
  const { stdout } = await promisify(execFile)(node, args, { cwd });
  return JSON.parse(stdout) as unknown;
}

/** Gives one package of a project a copy of the core of its own, as npm does when versions differ. */
export async function copyCoreInto(project: Project, folder: string): Promise<void> {
  const copy = project.file(`${folder}/node_modules/@flowline/core`);
  const core = join(packages, 'core');
  await cp(join(core, 'dist'), join(copy, 'dist'), { recursive: true });
  await cp(join(core, 'package.json'), join(copy, 'package.json'));
  const { dependencies } = JSON.parse(await readFile(join(core, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  for (const name of Object.keys(dependencies)) {
    await symlink(join(packages, '../node_modules', name), project.file(`node_modules/${name}`));
  }
}

/** The line, from 1, on which a text stands in a file. */
export async function lineOf(file: string, text: string): Promise<number> {
  const lines = (await readFile(file, 'utf8')).split('\n');
  const index = lines.findIndex((line) => line.includes(text));
  if (index < 0) throw new Error(`${file} does not contain ${text}`);
  return index + 1;
}
