import { DbError } from '../errors.js';
import { type Doc, isDoc, isNumeric, type Value } from '../values/value.js';

/** What a fail point does to a command that it strikes. */
export interface Strike {
  readonly closeConnection: boolean;
  readonly blockMs: number;
  readonly error: DbError | null;
  /** The reply's labels, none too, instead of those that it would have; null where nothing is said of them. */
  readonly errorLabels: readonly string[] | null;
  /** The command is done and only its answer is an error. */
  readonly writeConcernError: Doc | null;
}

/** What a command is, as far as fail points tell commands apart. */
export interface StruckCommand {
  readonly name: string;
  readonly appName: string | null;
  /** Gives `database.collection`. */
  readonly namespace: () => string;
}

/** What the data of `failCommand` may say; clients that are other servers do not exist here. */
const DATA_FIELDS: ReadonlySet<string> = new Set([
  'failCommands',
  'appName',
  'namespace',
  'errorCode',
  'errorLabels',
  'writeConcernError',
  'closeConnection',
  'blockConnection',
  'blockTimeMS',
  'failInternalCommands',
  'failLocalClients',
]);

/** The `failCommand` fail point of MongoDB's own test suites. */
export class FailPoints {
  #commands: readonly string[] = [];
  #appName: string | null = null;
  #namespace: string | null = null;
  #skip = 0;
  /** How many more commands it strikes; Infinity is "alwaysOn". */
  #left = 0;
  #data: Doc = new Map();
  #probability = 1;

  /** Reads a configureFailPoint command. Throws for a fail point, mode or field of the data that is not known. */
  configure(body: Doc, name: string): void {
    if (name !== 'failCommand') throw new DbError(107_001, `unknown fail point '${name}'`);
    checkData(body.get('data'));
    const mode = body.get('mode');
    this.#skip = 0;
    this.#probability = 1;
    if (mode === 'off') this.#left = 0;
    else if (mode === 'alwaysOn') this.#left = Number.POSITIVE_INFINITY;
    else if (isDoc(mode) && mode.has('times')) this.#left = numberOf(mode.get('times'));
    else if (isDoc(mode) && mode.has('skip')) {
      this.#left = Number.POSITIVE_INFINITY;
      this.#skip = numberOf(mode.get('skip'));
    } else if (isDoc(mode) && mode.has('activationProbability')) {
      this.#left = Number.POSITIVE_INFINITY;
      this.#probability = numberOf(mode.get('activationProbability'));
    } else throw new DbError(2, "fail point mode must be 'off', 'alwaysOn', { times } or { skip }");
    const data = body.get('data');
    this.#data = isDoc(data) ? data : new Map();
    const commands = this.#data.get('failCommands');
    this.#commands = Array.isArray(commands) ? commands.map(String) : [];
    const appName = this.#data.get('appName');
    this.#appName = typeof appName === 'string' ? appName : null;
    const namespace = this.#data.get('namespace');
    this.#namespace = typeof namespace === 'string' ? namespace : null;
  }

  /** What happens to this command now, or null. `random` gives numbers from 0 to 1. */
  strike(command: StruckCommand, random: () => number): Strike | null {
    if (this.#left <= 0 || !this.#commands.includes(command.name)) return null;
    if (this.#appName !== null && this.#appName !== command.appName) return null;
    if (this.#namespace !== null && this.#namespace !== command.namespace()) return null;
    if (this.#skip > 0) {
      this.#skip -= 1;
      return null;
    }
    if (this.#probability < 1 && random() >= this.#probability) return null;
    this.#left -= 1;
    const code = this.#data.get('errorCode');
    const labels = this.#data.get('errorLabels');
    const writeConcernError = this.#data.get('writeConcernError');
    return {
      closeConnection: this.#data.get('closeConnection') === true,
      blockMs:
        this.#data.get('blockConnection') === true ? numberOf(this.#data.get('blockTimeMS')) : 0,
      error:
        code === undefined
          ? null
          : new DbError(numberOf(code), "Failing command via 'failCommand' failpoint"),
      errorLabels: Array.isArray(labels) ? labels.map(String) : null,
      writeConcernError: isDoc(writeConcernError) ? writeConcernError : null,
    };
  }
}

function numberOf(value: Value): number {
  return isNumeric(value) ? Number(value.toString()) : 0;
}

function checkData(data: Value): void {
  if (!isDoc(data)) return;
  for (const field of data.keys()) {
    if (DATA_FIELDS.has(field)) continue;
    throw new DbError(
      238,
      `this development server does not know '${field}' of failCommand's data`,
    );
  }
}
