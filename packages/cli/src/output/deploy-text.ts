import type { FireView } from '@flowline/core/internal';
import type { Planned, PlannedChange } from '../session/plan-deploy.js';
import type { Terminal } from '../terminal/terminal.js';
import { firesInWords } from './coming-fires.js';
import { nextFireJson } from './shapes.js';
import { counted } from './words.js';

/** `{ id, version, change, nextFires }`; nothing for what left the code without being pruned: it is not changed. */
export function deployedJson({ id, version, change, nextFires }: Planned) {
  if (change === 'not in the code') return [];
  const fires = {
    before: nextFires.before.map(nextFireJson),
    after: nextFires.after.map(nextFireJson),
  };
  return [{ id, version, change: change === 'revived' ? 'added' : change, nextFires: fires }];
}

/** The plan for a person: a line for each DAG, and below it its next fires where the deploy changes them. */
export function planLines(terminal: Terminal, plan: readonly Planned[]): string[] {
  const { colors } = terminal;
  const word: Record<PlannedChange, string> = {
    added: colors.green('added    '),
    revived: colors.green('revived  '),
    changed: colors.cyan('changed  '),
    unchanged: colors.dim('unchanged'),
    removed: colors.red('removed  '),
    'not in the code': colors.yellow('kept     '),
  };
  return plan.flatMap((planned) => {
    const { id, version, change, previousVersion, openRuns } = planned;
    const versions = change === 'changed' ? `${previousVersion} -> ${version}` : version;
    const open =
      openRuns === 0 || change === 'unchanged'
        ? ''
        : `, ${counted(openRuns, 'open run')} on the version they have`;
    const left =
      change === 'not in the code' ? ', not in the code any more: --prune retires it' : '';
    return [`${word[change]} ${id}  ${versions}${open}${left}`, ...fireLines(planned)];
  });
}

function fireLines({ change, nextFires }: Planned): string[] {
  if (change === 'unchanged' || change === 'not in the code') return [];
  const [before, after] = [firesOrNone(nextFires.before), firesOrNone(nextFires.after)];
  if (before === after) return before === nothing ? [] : [`    next fires, unchanged: ${after}`];
  return [
    ...(change === 'added' ? [] : [`    next fires before: ${before}`]),
    `    next fires after:  ${after}`,
  ];
}

const nothing = 'none';

function firesOrNone(fires: readonly FireView[]): string {
  return fires.length === 0 ? nothing : firesInWords(fires);
}
