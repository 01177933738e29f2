import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Where things stand in a meta page of lmdb's data file (64-bit, little endian). */
const PAGE_HEADER = 24;
const MAGIC_AT = PAGE_HEADER;
const VERSION_AT = PAGE_HEADER + 4;
const PAGE_SIZE_AT = PAGE_HEADER + 24;
const LAST_PAGE_AT = PAGE_HEADER + 24 + 2 * 48;
const TRANSACTION_AT = LAST_PAGE_AT + 8;
const META_BYTES = TRANSACTION_AT + 8;

const MAGIC = 0xbeefc0de;

interface Meta {
  readonly pageSize: number;
  readonly lastPage: number;
  readonly transaction: bigint;
}

/**
 * What is wrong with an lmdb data file, in words; null if it looks whole. lmdb maps the file into memory and trusts it: a file that
 * is cut off or of another kind would end the process instead of being refused.
 */
export function faultOfDataFile(path: string): string | null {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    if (size === 0) return 'the file is empty';
    const first = readMeta(file, 0);
    if (first === null) return 'its first page is not that of a database';
    const second = readMeta(file, first.pageSize);
    if (second === null) return 'its second page is not that of a database';
    const newest = first.transaction > second.transaction ? first : second;
    const needed = (newest.lastPage + 1) * newest.pageSize;
    if (size < needed) return `it has ${size} bytes and should have ${needed}`;
    return null;
  } finally {
    closeSync(file);
  }
}

function readMeta(file: number, position: number): Meta | null {
  const bytes = Buffer.alloc(META_BYTES);
  if (readSync(file, bytes, 0, META_BYTES, position) < META_BYTES) return null;
  if (bytes.readUInt32LE(MAGIC_AT) !== MAGIC) return null;
  if ((bytes.readUInt32LE(VERSION_AT) & 0xffff) !== 2) return null;
  const pageSize = bytes.readUInt32LE(PAGE_SIZE_AT);
  if (pageSize < 512 || pageSize > 65_536 || (pageSize & (pageSize - 1)) !== 0) return null;
  const lastPage = Number(bytes.readBigUInt64LE(LAST_PAGE_AT));
  if (!Number.isSafeInteger(lastPage)) return null;
  return { pageSize, lastPage, transaction: bytes.readBigUInt64LE(TRANSACTION_AT) };
}
