import type { Pass } from '../compilation.js';
import { findCycles } from '../topology.js';

/** Reports each cycle as a path that can be read: `A -> B -> A`. */
export const refuseCycles: Pass = ({ jobs, problems }) => {
  for (const cycle of findCycles(jobs)) {
    const [first] = cycle;
    if (first === undefined) continue;
    const path = [...cycle, first].map((job) => job.name).join(' -> ');
    problems.add(first, {
      code: 'cycle',
      field: 'dependsOn',
      site: first.authored.dependenciesSite,
      message: `expected a graph without cycles, found ${path}`,
      hint: 'Each waits for the next: remove one of these dependencies.',
    });
  }
};
