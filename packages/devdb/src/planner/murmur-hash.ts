const MASK = (1n << 64n) - 1n;
const C1 = 0x87c37b91114253d5n;
const C2 = 0x4cf5ad432745937fn;

/**
 * The first 64 bits of MurmurHash3 (x64, 128 bits, seed 0) of a text's UTF-8 bytes. Source: Austin
 * Appleby's MurmurHash3, in the public domain.
 */
export function murmurHash(text: string): bigint {
  const bytes = Buffer.from(text);
  const blocks = Math.floor(bytes.length / 16);
  let h1 = 0n;
  let h2 = 0n;
  for (let block = 0; block < blocks; block++) {
    h1 ^= mixFirst(bytes.readBigUInt64LE(block * 16));
    h1 = multiply(rotate(h1, 27n) + h2, 5n) + 0x52dce729n;
    h2 ^= mixSecond(bytes.readBigUInt64LE(block * 16 + 8));
    h2 = multiply(rotate(h2, 31n) + h1, 5n) + 0x38495ab5n;
    h1 &= MASK;
    h2 &= MASK;
  }
  const tail = Buffer.alloc(16);
  bytes.copy(tail, 0, blocks * 16);
  h2 ^= mixSecond(tail.readBigUInt64LE(8));
  h1 ^= mixFirst(tail.readBigUInt64LE(0));
  h1 ^= BigInt(bytes.length);
  h2 ^= BigInt(bytes.length);
  h1 = (h1 + h2) & MASK;
  h2 = (h2 + h1) & MASK;
  return (finish(h1) + finish(h2)) & MASK;
}

function multiply(left: bigint, right: bigint): bigint {
  return (left * right) & MASK;
}

function rotate(value: bigint, bits: bigint): bigint {
  const cut = value & MASK;
  return ((cut << bits) | (cut >> (64n - bits))) & MASK;
}

function mixFirst(key: bigint): bigint {
  return multiply(rotate(multiply(key, C1), 31n), C2);
}

function mixSecond(key: bigint): bigint {
  return multiply(rotate(multiply(key, C2), 33n), C1);
}

function finish(value: bigint): bigint {
  let hash = value ^ (value >> 33n);
  hash = multiply(hash, 0xff51afd7ed558ccdn);
  hash ^= hash >> 33n;
  hash = multiply(hash, 0xc4ceb9fe1a85ec53n);
  return hash ^ (hash >> 33n);
}
