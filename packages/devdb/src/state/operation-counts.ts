import { type Doc, doc, Long } from '../values/value.js';

const kinds = ['insert', 'query', 'update', 'delete', 'getmore', 'command'] as const;
type Kind = (typeof kinds)[number];

/** Commands that `serverStatus` counts under a name of their own; all others are `command`. */
const kindOf: Readonly<Record<string, Kind>> = {
  insert: 'insert',
  find: 'query',
  update: 'update',
  delete: 'delete',
  getMore: 'getmore',
};

/** How many commands of each kind came in since the start; one per command, however many documents it names. */
export class OperationCounts {
  readonly #counts = new Map<Kind, number>(kinds.map((kind) => [kind, 0]));

  count(command: string): void {
    const kind = kindOf[command] ?? 'command';
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  }

  /** As `serverStatus` shows it. */
  toDoc(): Doc {
    return doc(
      ...kinds.map((kind): [string, Long] => [kind, Long.fromNumber(this.#counts.get(kind) ?? 0)]),
    );
  }
}
