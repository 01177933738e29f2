import type { ConnectOptions, ConnectSources } from './connect.js';
import type { Store } from './store.js';

/**
 * {@link import('./connect.js').connectStore}, which loads the database driver at the first call: loading it takes longer
 * than all else that a command such as `flow next` does.
 */
export async function connectStore(
  options: ConnectOptions,
  sources: ConnectSources = {},
): Promise<Store> {
  const { connectStore: connect } = await import('./connect.js');
  return connect(options, sources);
}
