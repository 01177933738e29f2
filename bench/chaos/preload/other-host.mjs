/**
 * `node --import .../other-host.mjs`: this process and its threads believe that they run on the machine OTHER_HOST, so that
 * runners of other machines can prove nothing about it, nor it about them.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

const host = process.env.OTHER_HOST;
if (host) {
  const { readFileSync } = fs;
  fs.readFileSync = (path, ...rest) =>
    path === '/proc/sys/kernel/random/boot_id' ? `boot-of-${host}` : readFileSync(path, ...rest);
  os.hostname = () => host;
  syncBuiltinESMExports();
}
