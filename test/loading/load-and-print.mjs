/**
 * Run as a child process: loads the jobs that each request of its one argument (JSON) asks for, by the built loader, and
 * prints what came of them as JSON. A fresh process, since a process loads each module once.
 */
import { readGraph } from '@flowline/core/internal';
import { loadJobs } from '../../packages/cli/dist/loading/load-jobs.js';

const answers = [];
for (const request of JSON.parse(process.argv[2] ?? '[]')) answers.push(await answer(request));
process.stdout.write(JSON.stringify(answers));

async function answer({ call, ...request }) {
  try {
    const { classes, files, problems } = await loadJobs(request);
    const graph = readGraph(classes);
    const described = [...graph.dags, ...graph.jobs]
      .filter(({ target }) => classes.includes(target))
      .map(({ name, kind, site, target, dependencies = [] }) => ({
        name,
        kind,
        ...site,
        seen: target.seen,
        dependenciesAreListed: dependencies.every(({ value }) => classes.includes(value)),
      }));
    const target = classes.find(({ name }) => name === call);
    const stack = target && (await new target().run({}, []).catch((error) => error.stack));
    return { files, problems, classes: described, stack };
  } catch (error) {
    const { name, code, message, hint } = error;
    return { thrown: { name, code, message, hint } };
  }
}
