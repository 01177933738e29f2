import { createServer } from 'node:http';
import { FlowClient } from '@flowline/core';
import { RenderInvoice } from './send-invoice.job.js';

/**
 * POST /orders/:id with `{"cents": 1250}` answers 202 with the run's id; posting the same order again gives the same
 * run, since the order's id is the key. GET /runs/:id tells how it is going.
 */
const client = await FlowClient.connect();

const server = createServer(async (request, response) => {
  const answer = (status: number, body: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(`${JSON.stringify(body)}\n`);
  };
  try {
    const [, kind, id = ''] = (request.url ?? '').split('/');
    if (request.method === 'POST' && kind === 'orders' && id !== '') {
      const { cents } = JSON.parse(await readBody(request)) as { cents: number };
      const run = await client.trigger(RenderInvoice, {
        params: { order: id, cents },
        key: `order-${id}`,
      });
      return answer(202, { runId: run.runId, created: run.created });
    }
    if (request.method === 'GET' && kind === 'runs') {
      const run = await client.getRun(id);
      return run === null ? answer(404, { error: `no run ${id}` }) : answer(200, run);
    }
    return answer(404, { error: 'POST /orders/:id or GET /runs/:id' });
  } catch (error) {
    return answer(400, { error: error instanceof Error ? error.message : String(error) });
  }
});

async function readBody(request: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

server.listen(Number(process.env.PORT ?? 3000), () => {
  const address = server.address();
  process.stdout.write(`listening on ${typeof address === 'object' ? address?.port : address}\n`);
});
process.once('SIGTERM', () => server.close(() => void client.close()));
