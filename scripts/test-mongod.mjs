/**
 * `npm run test:mongod`: the same suites on a real MongoDB.
 *
 * FLOW_TEST_MONGODB_URI if set; else a one-node replica set started by mongodb-memory-server-core, from
 * MONGOMS_SYSTEM_BINARY or, where the machine can, from a download. Where neither is to be had it says so and exits 3.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';

const { MONGOMS_SYSTEM_BINARY: binary, FLOW_TEST_MONGODB_URI: given } = process.env;

/** A download is tried only when asked for: without a network it would take many seconds to fail. */
const mayDownload =
  process.env.MONGOMS_RUNTIME_DOWNLOAD === 'true' || process.env.MONGOMS_DOWNLOAD_URL !== undefined;

async function server() {
  if (given) return { uri: given, stop: async () => {} };
  if (binary !== undefined && !existsSync(binary))
    return refuse(`MONGOMS_SYSTEM_BINARY: there is no file ${binary}`);
  if (binary === undefined && !mayDownload) return refuse('no MongoDB server is to be had here');
  process.env.MONGOMS_RUNTIME_DOWNLOAD = mayDownload ? 'true' : 'false';
  const { MongoMemoryReplSet } = await import('mongodb-memory-server-core');
  try {
    const replicaSet = await MongoMemoryReplSet.create({
      replSet: { count: 1, storageEngine: 'wiredTiger' },
    });
    return { uri: replicaSet.getUri(), stop: () => replicaSet.stop() };
  } catch (error) {
    return refuse(
      `a MongoDB server could not be started: ${error instanceof Error ? error.message : error}`,
    );
  }
}

function refuse(reason) {
  process.stderr.write(
    `${reason}\nSet FLOW_TEST_MONGODB_URI to a replica set, or MONGOMS_SYSTEM_BINARY to a mongod, ` +
      'or MONGOMS_RUNTIME_DOWNLOAD=true to download one.\n',
  );
  process.exit(3);
}

/** Resolves with the exit status of a command that prints to this terminal. */
function run(command, args, env = {}) {
  const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
}

// Asked before anything is built: where there is no server, nobody should wait to hear so.
const { uri, stop } = await server();
let status = await run('npm', ['run', 'build', '--silent']);
if (status === 0) {
  status = await run('npx', ['vitest', 'run', ...process.argv.slice(2)], {
    FLOW_TEST_MONGODB_URI: uri,
  });
}
await stop();
process.exit(status);
