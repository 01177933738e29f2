/**
 * From decorated classes to an authored graph: what the users wrote, with references resolved as far as they go, nothing
 * judged. Classes that are reached only through `@DependsOn` or `dag` are in it too.
 */

import { isDecorated, readRecord } from './records.js';
import type { Site } from './site.js';

/** A class as a value; what it constructs is not known here. */
export type AnyClass = abstract new (...args: never[]) => object;

interface Authored {
  readonly target: AnyClass;
  /** The class name, for messages. */
  readonly name: string;
  /** As the user wrote it; may be anything. */
  readonly options: unknown;
  readonly site: Site | undefined;
}

/** A class with `@Dag`. */
export interface AuthoredDag extends Authored {
  readonly kind: 'dag';
}

/** A class with `@Job`. */
export interface AuthoredJob extends Authored {
  readonly kind: 'job';
  readonly dependencies: readonly AuthoredDependency[];
  /** Where `@DependsOn` stands. */
  readonly dependenciesSite: Site | undefined;
}

/** One entry of `@DependsOn`: a value, or what a function threw instead of returning one. */
export interface AuthoredDependency {
  readonly value: unknown;
  readonly thrown?: unknown;
}

/** A class that cannot be read as a job or DAG, and why. */
export interface Stray {
  readonly value: unknown;
  readonly name: string;
  readonly site: Site | undefined;
  readonly reason: 'not-decorated' | 'without-job' | 'dag-and-job';
}

export interface AuthoredGraph {
  readonly dags: readonly AuthoredDag[];
  readonly jobs: readonly AuthoredJob[];
  readonly strays: readonly Stray[];
}

/** Reads the records of these classes and of all that they lead to. The order of the result depends on the order of `classes`. */
export function readGraph(classes: Iterable<unknown>): AuthoredGraph {
  const dags: AuthoredDag[] = [];
  const jobs: AuthoredJob[] = [];
  const strays: Stray[] = [];
  const seen = new Set<unknown>();
  const open: unknown[] = [...classes];
  // The list grows while it is walked.
  for (const value of open) {
    if (seen.has(value)) continue;
    seen.add(value);
    const dag = readRecord('Dag', value);
    const job = readRecord('Job', value);
    const dependsOn = readRecord('DependsOn', value);
    const name = nameOf(value);
    const site = job?.site ?? dag?.site ?? dependsOn?.site;
    if (dag !== undefined && (job !== undefined || dependsOn !== undefined)) {
      strays.push({ value, name, site, reason: 'dag-and-job' });
    } else if (dag !== undefined) {
      dags.push({ kind: 'dag', target: value as AnyClass, name, options: dag.options, site });
    } else if (job !== undefined) {
      const dependencies = (dependsOn?.jobs ?? []).map(resolveReference);
      jobs.push({
        kind: 'job',
        target: value as AnyClass,
        name,
        options: job.options,
        site,
        dependencies,
        dependenciesSite: dependsOn?.site,
      });
      for (const dependency of dependencies) {
        if (isDecorated(dependency.value)) open.push(dependency.value);
      }
      const owner = dagOption(job.options);
      if (isDecorated(owner)) open.push(owner);
    } else {
      const reason = dependsOn === undefined ? 'not-decorated' : 'without-job';
      strays.push({ value, name, site, reason });
    }
  }
  return { dags, jobs, strays };
}

/** The `dag` option of raw `@Job` options, whatever it is. */
export function dagOption(options: unknown): unknown {
  return typeof options === 'object' && options !== null
    ? (options as { dag?: unknown }).dag
    : undefined;
}

/** The name of a class in messages; compilers that rename `X` to `_X` are seen through only by the id. */
export function nameOf(value: unknown): string {
  return typeof value === 'function' ? value.name || '(anonymous class)' : String(value);
}

/** An arrow function stands for what it returns; anything else for itself. */
function resolveReference(value: unknown): AuthoredDependency {
  if (typeof value !== 'function' || value.prototype !== undefined) return { value };
  try {
    return { value: (value as () => unknown)() };
  } catch (thrown) {
    return { value, thrown };
  }
}
