import { Binary } from 'mongodb';
import { decodePayload } from './decode-payload.js';
import { encodePayload } from './encode-payload.js';

/** The stored form of a result or of params; null for `undefined`. Throws PayloadError: see encode-payload.ts. */
export function toPayload(value: unknown, name: string, limitBytes: number): Binary | null {
  return value === undefined ? null : new Binary(encodePayload(value, name, limitBytes));
}

/** The value of a stored form. */
export function fromPayload(stored: Binary | null | undefined): unknown {
  return stored === null || stored === undefined ? undefined : decodePayload(stored.value());
}
