import { UsageError } from '@flowline/core';
import type { Settings } from '../config/resolve-settings.js';

/** The folder of the embedded database. Throws UsageError when a MongoDB URI is set: then there is none to speak of. */
export function dataDirOf(settings: Settings): string {
  if (settings.dataDir !== undefined) return settings.dataDir;
  throw new UsageError('flow db is about the embedded database, but a MongoDB URI is set', {
    hint: 'Unset FLOW_MONGODB_URI (or mongodbUri in flow.config.ts) to use the embedded one.',
  });
}
