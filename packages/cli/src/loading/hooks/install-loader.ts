import { createRequire, register } from 'node:module';
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { isInstalledFile } from '../compile/module-format.js';
import type { HookData } from './esm-hooks.js';
import { installRequireHook } from './require-hook.js';

let port: MessagePort | undefined;
const imported = new Set<string>();

/**
 * Makes `import` and `require` of this process understand TypeScript sources, and error positions point into them.
 * Once per process; calling it again does nothing. It cannot be undone: Node keeps what it loaded.
 */
export function installLoader(): void {
  if (port !== undefined) return;
  const channel = new MessageChannel();
  port = channel.port1;
  // A waiting port must not keep a finished command alive.
  port.unref();
  process.setSourceMapsEnabled(true);
  installRequireHook({
    ownUrl: import.meta.url,
    isImported: (file) => drain().has(file),
    onModuleRequired: (file) => channel.port1.postMessage(file),
  });
  register<HookData>('./esm-hooks.js', import.meta.url, {
    data: { port: channel.port2, ownUrl: import.meta.url },
    transferList: [channel.port2],
  });
}

/** The files of the user's that this process has loaded through the loader so far, configuration included. */
export function loadedFiles(): string[] {
  const required = Object.keys(createRequire(import.meta.url).cache).filter(
    (file) => !isInstalledFile(file),
  );
  return [...new Set([...drain(), ...required])].sort();
}

/** Takes what the hook thread has said so far; it speaks before the file it speaks of runs. */
function drain(): Set<string> {
  while (port !== undefined) {
    const message = receiveMessageOnPort(port);
    if (message === undefined) break;
    imported.add(message.message as string);
  }
  return imported;
}
