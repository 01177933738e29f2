/**
 * The health endpoint: `/healthz` says whether the process is alive and its loops turn, `/readyz` whether it can work now
 * (the database answers, the last look for work is young). 200 or 503, with the same JSON. A blocked event loop answers
 * neither, which is the truth as well.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OptionError } from '@flowline/core';
import type { RunnerHealth } from './health.js';

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface HealthProbes {
  /** Asks nobody. */
  live(): RunnerHealth;
  /** Asks the database. */
  ready(): Promise<RunnerHealth>;
}

/** Listens on `host`:`port` (0 takes a free one). Throws OptionError where it cannot. */
export async function startHealthServer(
  address: { readonly host: string; readonly port: number },
  probes: HealthProbes,
): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      send(response, 405, { problems: [`${request.method} is not allowed`] });
    } else if (path === '/healthz') {
      const health = probes.live();
      send(response, health.isAlive ? 200 : 503, health);
    } else if (path === '/readyz') {
      void probes.ready().then(
        (health) => send(response, health.isReady ? 200 : 503, health),
        (error: Error) => send(response, 503, { problems: [error.message] }),
      );
    } else {
      send(response, 404, { problems: ['expected /healthz or /readyz'] });
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new OptionError('health.port', 'a port that this process may listen on', address.port, {
          cause: error,
          hint: `${address.host}:${address.port}: ${error.message}`,
        }),
      ),
    );
    server.listen(address.port, address.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(body)}\n`);
}
