import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { startServer } from '@flowline/devdb';
import { MongoClient } from 'mongodb';
import { expect, test } from 'vitest';

// The system's limit on the size of a file stands for the full disk: it too takes a part of a write and refuses the rest.
test.skipIf(process.platform === 'win32')(
  'a disk that takes no more refuses all later writes and keeps the acknowledged ones',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'devdb-full-'));
    try {
      const fixture = fileURLToPath(new URL('./fixtures/insert-until-full.mjs', import.meta.url));
      const child = spawn(
        '/bin/sh',
        ['-c', 'ulimit -f 2000 && exec "$0" "$@"', process.execPath, fixture, directory],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      const { acknowledged, refusals } = JSON.parse(await text(child.stdout)) as {
        acknowledged: number;
        refusals: string[];
      };
      expect(acknowledged).toBeGreaterThan(5);
      expect(refusals).toHaveLength(3);
      for (const refusal of refusals) expect(refusal).toMatch(/EFBIG/);
      const server = await startServer({ directory });
      const client = await new MongoClient(server.uri).connect();
      const ids = await client.db('full').collection<{ _id: number }>('items').distinct('_id');
      await client.close();
      await server.close();
      expect(ids).toEqual(Array.from({ length: acknowledged }, (_, number) => number));
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
);
