import { Binary, Long, ObjectId, Timestamp, UUID } from 'mongodb';

/** What the placeholders of one case have stood for so far. */
export class Placeholders {
  readonly #values = new Map<string, unknown>();
  readonly #sessions = new Map<string, Binary>();

  /** The value to send in the place of what a recorded command holds. */
  fill(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((element) => this.fill(element));
    if (!isPlain(value)) return value;
    if (!('$golden' in value)) {
      return new Map(Object.entries(value).map(([key, inner]) => [key, this.fill(inner)]));
    }
    switch (value.$golden) {
      case 'session':
        return this.#session(String(value.name));
      case 'document':
        return new Map(
          (value.fields as [string, unknown][]).map(([key, inner]) => [key, this.fill(inner)]),
        );
      default: {
        const known = this.#values.get(placeholderKey(value));
        // The recording sends a number of no cursor where none was given before.
        if (known === undefined && value.$golden === 'cursor') return Long.fromNumber(987654321);
        if (known === undefined) throw new Error(`${placeholderKey(value)} was not seen before`);
        return known;
      }
    }
  }

  #session(name: string): Binary {
    let id = this.#sessions.get(name);
    if (id === undefined) {
      id = new UUID().toBinary();
      this.#sessions.set(name, id);
    }
    return id;
  }

  /** Whether an answered value is one that the placeholder may stand for; remembers it. */
  accepts(placeholder: Record<string, unknown>, actual: unknown): boolean {
    if (placeholder.$golden === 'session') {
      return valueText(actual) === valueText(this.#session(String(placeholder.name)));
    }
    if (!fits(String(placeholder.$golden), actual)) return false;
    if (placeholder.n === undefined) return true;
    const key = placeholderKey(placeholder);
    const text = valueText(actual);
    const known = this.#values.get(key);
    if (known !== undefined) return valueText(known) === text;
    this.#values.set(key, actual);
    return true;
  }
}

function placeholderKey(placeholder: Record<string, unknown>): string {
  return `${String(placeholder.$golden)} ${String(placeholder.n)}`;
}

function fits(kind: string, actual: unknown): boolean {
  switch (kind) {
    case 'cursor':
      return actual instanceof Long && !actual.isZero();
    case 'objectId':
      return actual instanceof ObjectId;
    case 'date':
      return actual instanceof Date;
    case 'timestamp':
      return actual instanceof Timestamp;
    case 'resumeToken':
      return isPlain(actual) && '_data' in actual;
    case 'uuid':
      return actual instanceof Binary && actual.sub_type === 4;
    case 'binary':
      return actual instanceof Binary;
    case 'host':
      return typeof actual === 'string' && actual.includes(':');
    case 'undefined':
      return actual === undefined;
    default:
      return false;
  }
}

function valueText(value: unknown): string {
  if (value instanceof Long || value instanceof ObjectId) return value.toString();
  if (value instanceof Binary) return value.toString('hex');
  return JSON.stringify(value);
}

/** Whether a value is a document and no BSON type. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !('_bsontype' in value) &&
    !(value instanceof Date) &&
    !(value instanceof RegExp)
  );
}
