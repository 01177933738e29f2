// A development server in a process of its own, for the benchmark: in memory, or durable in the given directory.
import { startServer } from '@flowline/devdb';

const [directory] = process.argv.slice(2);
const started = performance.now();
const server = await startServer(directory ? { directory } : {});
process.send({ uri: server.uri, startMs: performance.now() - started });
process.on('message', () => process.send({ residentBytes: process.memoryUsage.rss() }));
