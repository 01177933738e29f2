// A development server in a process of its own: in memory, or durable in the given directory; at a free port or the given one.
import { startServer } from '@flowline/devdb';

const [directory, port = '0'] = process.argv.slice(2);
const started = performance.now();
const server = await startServer({ port: Number(port), ...(directory ? { directory } : {}) });
process.send({ uri: server.uri, port: server.port, startMs: performance.now() - started });
process.on('message', () => process.send({ residentBytes: process.memoryUsage.rss() }));
// Who started it may have been killed.
process.on('disconnect', () => process.exit());
