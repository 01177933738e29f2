import type { Command, CommandContext } from '../command-line/command.js';
import { type CheckState, type Finding, patienceMs } from '../diagnosis/check.js';
import { checks } from '../diagnosis/checks.js';
import { toJson } from '../output/shapes.js';
import { withSession } from '../session/with-session.js';
import { exitCodes } from '../terminal/exit-codes.js';
import { print } from '../terminal/terminal.js';

interface Diagnosis extends Finding {
  readonly check: string;
  readonly fixed: readonly string[];
}

/** Lines of one check that are shown; the rest are in --json. */
const linesShown = 20;

export const command: Command = {
  options: {
    fix: {
      type: 'boolean',
      describe: 'make missing indexes, and do what a leader should have done',
    },
  },
  examples: [
    ['flow doctor', 'exit status 1 when there is a fault'],
    ['flow doctor --fix', 'mends what can be mended without harm, and says what it did'],
  ],
  notes: `Work counts as left undone ${patienceMs / 1_000} s after it was due. --fix does what the leader of the runners does anyway: it is safe beside runners, and twice.`,
  async run(args, context) {
    return withSession(
      args,
      context,
      async ({ store }) => {
        const found: Diagnosis[] = [];
        for (const { name, look, mend } of checks) {
          let finding = await look(store);
          let fixed: readonly string[] = [];
          if (args.fix === true && mend !== undefined && finding.state === 'fault') {
            fixed = await mend(store);
            if (fixed.length > 0) finding = await look(store);
          }
          found.push({ check: name, ...finding, fixed });
          // Nothing else can be asked of a server that is too old, or has none of the collections.
          if (name === 'database' && finding.state === 'fault') break;
        }
        const isHealthy = found.every(({ state }) => state !== 'fault');
        if (args.json)
          print(context.terminal, toJson({ healthy: isHealthy, checks: found.map(json) }));
        else for (const one of found) show(one, context);
        return isHealthy ? exitCodes.done : exitCodes.failed;
      },
      { prepare: false },
    );
  },
};

function json({ check, state, message, details = [], hint, fixed }: Diagnosis) {
  return { check, state, message, details, hint: hint ?? null, fixed };
}

function show(
  { check, state, message, details = [], hint, fixed }: Diagnosis,
  { terminal }: CommandContext,
): void {
  const { colors } = terminal;
  const word: Readonly<Record<CheckState, string>> = {
    ok: colors.green('ok     '),
    warning: colors.yellow('warning'),
    fault: colors.red('fault  '),
  };
  print(terminal, `${word[state]} ${check}: ${message}`);
  for (const line of details.slice(0, linesShown)) print(terminal, `          ${line}`);
  if (details.length > linesShown)
    print(terminal, `          and ${details.length - linesShown} more (--json shows all)`);
  for (const line of fixed) print(terminal, `        ${colors.green('fixed')}: ${line}`);
  if (hint !== undefined) print(terminal, `        ${colors.dim('hint')}: ${hint}`);
}
