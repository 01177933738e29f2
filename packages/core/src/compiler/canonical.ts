/**
 * The canonical form of a definition and the hashes made from it. The form is that of RFC 8785 (JSON Canonicalization
 * Scheme): keys sorted by UTF-16 code units, no spaces, numbers and text as ECMAScript writes them.
 */

import { createHash } from 'node:crypto';
import type { DagDefinition } from '../model/definition.js';

/**
 * The canonical JSON of a plain value. Keys whose value is undefined are left out. Throws TypeError on what JSON cannot
 * say exactly: NaN, infinities, bigint, functions, Date and other class instances, undefined in an array.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') {
    return JSON.stringify(value);
  }
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (isPlainObject(value)) {
    const members = Object.keys(value)
      .filter((key) => value[key] !== undefined)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
    return `{${members.join(',')}}`;
  }
  throw new TypeError(`expected plain JSON, found ${Object.prototype.toString.call(value)}`);
}

/** The version of a DAG: the first 20 hex digits of the SHA-256 of its canonical form. */
export function versionOf(definition: DagDefinition): string {
  return sha256(canonicalJson(definition)).slice(0, 20);
}

/**
 * What a runner must have to run a job: DAG id / job id / 12 hex digits of the SHA-256 of the ordered dependency ids. A
 * class whose arguments changed has another key, so that a runner with the old class never claims a task of the new one.
 */
export function serveKeyOf(dagId: string, jobId: string, dependsOn: readonly string[]): string {
  return `${dagId}/${jobId}/${sha256(canonicalJson({ dependsOn })).slice(0, 12)}`;
}

/** How many characters the ids of a DAG and a job may have together: a key has at most 200. */
export const maxServeKeyIds = 200 - '//'.length - 12;

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
