import { describe, expect, it } from 'vitest';
import { doc, int32 } from '../values/value.js';
import { buildRequest, FrameReader, parseRequest, WireError } from './wire.js';

const ping = buildRequest(5, doc(['ping', int32(1)], ['$db', 'admin']));

describe('FrameReader', () => {
  it('gives whole messages however the bytes are cut', () => {
    const bytes = Buffer.concat([ping, ping, ping]);
    for (let size = 1; size <= bytes.length; size++) {
      const frames = new FrameReader();
      let count = 0;
      for (let at = 0; at < bytes.length; at += size) {
        frames.push(bytes.subarray(at, at + size));
        for (let one = frames.next(); one !== null; one = frames.next()) {
          expect(one.equals(ping)).toBe(true);
          count += 1;
        }
      }
      expect(count).toBe(3);
    }
  });

  it.each([-1, 0, 15, 48_000_001, 0x7fffffff])('refuses a length of %i', (length) => {
    const frames = new FrameReader();
    const bytes = Buffer.from(ping);
    bytes.writeInt32LE(length, 0);
    frames.push(bytes);
    expect(() => frames.next()).toThrow(WireError);
  });
});

describe('parseRequest', () => {
  it('reads the body of an OP_MSG', () => {
    expect(parseRequest(ping)).toMatchObject({
      requestId: 5,
      opCode: 'msg',
      expectsReply: true,
      body: doc(['ping', int32(1)], ['$db', 'admin']),
    });
  });

  it('folds document sequences into the body', () => {
    const inner = buildRequest(1, doc(['_id', int32(1)])).subarray(21);
    const name = Buffer.from('documents\0');
    const length = Buffer.alloc(4);
    length.writeInt32LE(4 + name.length + inner.length);
    const insert = buildRequest(6, doc(['insert', 'c'], ['$db', 'x']));
    const whole = Buffer.concat([insert, Buffer.from([1]), length, name, inner]);
    whole.writeInt32LE(whole.length, 0);
    const request = parseRequest(whole);
    expect('body' in request && request.body.get('documents')).toEqual([doc(['_id', int32(1)])]);
  });

  it('answers a document that cannot be read, and throws for broken framing', () => {
    const broken = Buffer.from(ping);
    broken[25] = 0x77;
    expect(parseRequest(broken)).toMatchObject({ requestId: 5, fault: { code: 22 } });
    const unknown = Buffer.from(ping);
    unknown.writeInt32LE(1, 12);
    expect(() => parseRequest(unknown)).toThrow(WireError);
  });
});
