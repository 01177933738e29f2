import { type Command, type CommandContext, isGroup } from './command.js';
import { globalOptions } from './global-options.js';

const longestWaitMs = 1_500;

/**
 * What may stand where the last word is: commands, flags, the values of a flag, ids of DAGs, runs and backfills. Empty
 * where it is a path, and whenever the database does not answer quickly: completion never fails.
 */
export async function candidates(
  words: readonly string[],
  context: CommandContext,
): Promise<string[]> {
  const before = words.slice(0, -1).filter((word) => !word.startsWith('-'));
  const [first, second] = before;
  if (first === undefined) return context.table.map(({ name }) => name);
  const entry = context.table.find(({ name }) => name === first);
  if (entry === undefined) return [];
  if (isGroup(entry)) {
    if (second === undefined) return entry.commands.map(({ name }) => name);
    const inner = entry.commands.find(({ name }) => name === second);
    return inner === undefined
      ? []
      : ofCommand((await inner.load()).command, words, before.length - 2, context);
  }
  return ofCommand((await entry.load()).command, words, before.length - 1, context);
}

async function ofCommand(
  command: Command,
  words: readonly string[],
  position: number,
  context: CommandContext,
): Promise<string[]> {
  const options = { ...command.options, ...globalOptions };
  const last = words.at(-1) ?? '';
  if (last.startsWith('-')) return [...Object.keys(options).map((name) => `--${name}`), '--help'];
  const flag = options[words.at(-2)?.replace(/^--/, '') ?? ''];
  if (flag?.choices !== undefined) return (flag.choices as readonly string[]).map(String);
  if (flag !== undefined && flag.type !== 'boolean') return [];
  const positional = command.positionals?.[Math.min(position, command.positionals.length - 1)];
  const kind = positional?.completes;
  if (kind === undefined || kind === 'path') return [];
  return idsOf(kind, context).catch(() => []);
}

async function idsOf(kind: 'dag' | 'run' | 'backfill', context: CommandContext): Promise<string[]> {
  const { withSession } = await import('../session/with-session.js');
  const asked = withSession({}, context, async ({ store }) => {
    if (kind === 'run') return (await store.listRuns({ limit: 50 })).map(({ id }) => id);
    if (kind === 'backfill') return (await store.listBackfills({ limit: 50 })).map(({ id }) => id);
    return (await store.listDags({ state: 'active' })).map(({ id }) => id);
  });
  const late = new Promise<string[]>((resolve) =>
    setTimeout(() => resolve([]), longestWaitMs).unref(),
  );
  return Promise.race([asked, late]);
}
