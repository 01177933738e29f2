import { TRANSFORMS } from './compile-update-pipeline.js';
import { BUCKET } from './grouping/bucket.js';
import { BUCKET_AUTO } from './grouping/bucket-auto.js';
import { GROUP, SORT_BY_COUNT } from './grouping/group.js';
import { GRAPH_LOOKUP } from './joins/graph-lookup.js';
import { LOOKUP } from './joins/lookup.js';
import { MERGE } from './output/merge.js';
import { OUT } from './output/out.js';
import type { OutputDefinition } from './output/output.js';
import type { StageDefinition, TransformDefinition } from './stage.js';
import { FACET } from './stages/facet.js';
import { GENERATED } from './stages/generated.js';
import { MATCH } from './stages/match.js';
import { COUNT, LIMIT, SKIP } from './stages/paging.js';
import { REDACT } from './stages/redact.js';
import { SAMPLE } from './stages/sample.js';
import { SORT } from './stages/sort.js';
import { UNWIND } from './stages/unwind.js';

const OWN: readonly StageDefinition[] = [
  MATCH,
  SORT,
  LIMIT,
  SKIP,
  COUNT,
  UNWIND,
  GROUP,
  SORT_BY_COUNT,
  BUCKET,
  BUCKET_AUTO,
  FACET,
  LOOKUP,
  GRAPH_LOOKUP,
  REDACT,
  SAMPLE,
  ...GENERATED,
];

/** A stage that maps documents one to one, as a stage of a pipeline. */
function mapping({ name, compile }: TransformDefinition): StageDefinition {
  return {
    name,
    compile(value, { scope }) {
      const transform = compile(value, scope);
      return function* map(source) {
        for (const document of source) yield transform(document);
      };
    },
  };
}

/** Every stage that is known, by name, but for the ones that write. */
export const STAGES: ReadonlyMap<string, StageDefinition> = new Map(
  [...OWN, ...[...TRANSFORMS.values()].map(mapping)].map((stage) => [stage.name, stage]),
);

/** The stages that end a pipeline by writing. */
export const OUTPUTS: ReadonlyMap<string, OutputDefinition> = new Map(
  [OUT, MERGE].map((stage) => [stage.name, stage]),
);
