/**
 * Run as a child process: loads the jobs that its one argument (a JSON LoadRequest) asks for, by the built loader, and
 * prints what came of it as JSON. A fresh process, since a process loads each module once.
 */
import { readGraph } from '@flowline/core/internal';
import { loadJobs } from '../../packages/cli/dist/loading/load-jobs.js';

const { call, ...request } = JSON.parse(process.argv[2] ?? '{}');
const answer = {};
try {
  const { classes, files, problems } = await loadJobs(request);
  answer.files = files;
  answer.problems = problems;
  const graph = readGraph(classes);
  const describe = ({ name, kind, site, target, dependencies = [] }) => ({
    name,
    kind,
    ...site,
    seen: target.seen,
    dependenciesAreListed: dependencies.every(({ value }) => classes.includes(value)),
  });
  answer.classes = [...graph.dags, ...graph.jobs]
    .filter(({ target }) => classes.includes(target))
    .map(describe);
  if (call !== undefined) {
    const target = classes.find(({ name }) => name === call);
    await new target().run({}, []).catch((error) => {
      answer.stack = error.stack;
    });
  }
} catch (error) {
  answer.thrown = { name: error.name, code: error.code, message: error.message, hint: error.hint };
}
process.stdout.write(JSON.stringify(answer));
