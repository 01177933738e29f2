import { DbError } from '../../errors.js';
import type { Evaluated } from '../../expression/expression.js';
import { formatValue } from '../../values/format.js';
import { type Doc, isDoc, MISSING, type Value } from '../../values/value.js';
import type { StageDefinition } from '../stage.js';

const DESCEND = 'descend';
const PRUNE = 'prune';
const KEEP = 'keep';

/** `$redact`: keeps, drops or goes into each document on every level, as an expression says. */
export const REDACT: StageDefinition = {
  name: '$redact',
  compile(value, { scope }) {
    const declared = scope.declare('CURRENT');
    const inner = declared.scope
      .define('DESCEND', DESCEND)
      .define('PRUNE', PRUNE)
      .define('KEEP', KEEP);
    const { evaluate } = inner.compile(value);

    const redact = (current: Doc, root: Doc): Doc | undefined => {
      declared.slot.set(current);
      const decision = evaluate(root);
      if (decision === KEEP) return current;
      if (decision === PRUNE) return undefined;
      if (decision !== DESCEND) {
        throw new DbError(
          17053,
          "$redact's expression should not return anything aside from the variables $$KEEP, " +
            `$$DESCEND, and $$PRUNE, but returned ${formatValue(decision)}`,
        );
      }
      const result: Doc = new Map();
      for (const [key, field] of current) {
        const redacted = redactValue(field, root);
        if (redacted !== MISSING) result.set(key, redacted);
      }
      return result;
    };
    const redactValue = (field: Value, root: Doc): Evaluated => {
      if (isDoc(field)) return redact(field, root) ?? MISSING;
      if (!Array.isArray(field)) return field;
      const kept = field.map((element) => redactValue(element, root));
      return kept.filter((element): element is Value => element !== MISSING);
    };
    return function* redactAll(source) {
      for (const document of source) {
        const redacted = redact(document, document);
        if (redacted) yield redacted;
      }
    };
  },
};
