/**
 * The database under chaos: a development server in a process of its own, which may be killed and comes back at the same
 * port with the same data; or a MongoDB that somebody else runs, which is not killed.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { MongoClient } from 'mongodb';

const serverFile = fileURLToPath(new URL('../devdb/server.mjs', import.meta.url));

/**
 * Starts a development server that keeps its data in `directory`.
 * @param {string} directory
 */
export async function startDatabase(directory) {
  const first = await startServerProcess(directory, 0);
  let child = first.child;
  const { port } = first;
  const target = { host: '127.0.0.1', port };
  return {
    name: 'embedded',
    target,
    uri: `mongodb://127.0.0.1:${port}/?directConnection=true`,
    /** SIGKILL; resolves when the process is gone. @returns {Promise<void>} */
    async kill() {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await gone;
    },
    /** Starts it again where it was. @returns {Promise<void>} */
    async restart() {
      for (let tries = 1; ; tries += 1) {
        try {
          ({ child } = await startServerProcess(directory, port));
          return;
        } catch (error) {
          // Meanwhile somebody's outgoing connection may have been given the port, for a moment.
          if (tries === 20 || !/EADDRINUSE/.test(error.message)) throw error;
          await new Promise((resolve) => setTimeout(resolve, 500));
        }
      }
    },
    /** @param {number} proxyPort */
    uriThrough: (proxyPort) => `mongodb://127.0.0.1:${proxyPort}/?directConnection=true`,
    /** @returns {Promise<void>} */
    async close() {
      if (child.exitCode === null && child.signalCode === null) await this.kill();
    },
  };
}

/**
 * A MongoDB at `uri`. It is not restarted; `target` is its primary, for a proxy, or null with the reason in `whyNoProxy`.
 * @param {string} uri
 */
export async function useDatabase(uri) {
  const client = await MongoClient.connect(uri);
  const { primary, me } = await client.db('admin').command({ hello: 1 });
  await client.close();
  const parsed = new URL(uri.replace(/\/\/([^/]*)/, (_, hosts) => `//${hosts.split(',')[0]}`));
  const isTls = /[?&](tls|ssl)=true/.test(uri) || uri.startsWith('mongodb+srv:');
  const address = primary ?? me ?? parsed.host;
  const [host = 'localhost', port = '27017'] = address.split(':');
  return {
    name: 'mongodb',
    uri,
    target: isTls ? null : { host, port: Number(port) },
    whyNoProxy: isTls ? 'the connection is encrypted for the names of the servers' : null,
    whyNoRestart: 'this MongoDB belongs to somebody else',
    /** The primary by itself, whatever the set says of its members. @param {number} proxyPort */
    uriThrough(proxyPort) {
      const through = new URL(parsed);
      through.host = `127.0.0.1:${proxyPort}`;
      through.searchParams.delete('replicaSet');
      through.searchParams.set('directConnection', 'true');
      return through.href;
    },
    /** @returns {Promise<void>} */
    async close() {},
  };
}

function startServerProcess(directory, port) {
  const child = fork(serverFile, [directory, String(port)], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let said = '';
  child.stderr?.on('data', (piece) => {
    said += piece;
  });
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve({ child, port: message.port }));
    // Not at the exit: what it said may still be on its way.
    child.once('close', (code) => reject(new Error(`the database ended with ${code}: ${said}`)));
  });
}
