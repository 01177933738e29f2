import { type ConnectOptions, connectStore } from '@flowline/core/internal';
import { note, type Terminal } from '../terminal/terminal.js';
import type { Project } from './load-project.js';

/** Deploys a compiled project as it is, for commands that run what they deploy; says what changed on stderr. */
export async function deployProject(
  connection: ConnectOptions,
  project: Project,
  terminal: Terminal,
): Promise<void> {
  const store = await connectStore(connection);
  try {
    await store.prepare();
    for (const { definition, version } of project.dags) {
      const { change } = await store.deployDag({
        definition,
        version,
        project: project.settings.project,
      });
      if (change !== 'unchanged') note(terminal, `${change} ${definition.id} ${version}`);
    }
  } finally {
    await store.close();
  }
}
