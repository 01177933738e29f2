import type { StoreContext } from '../context.js';
import type { AuditOptions, AuditReport, Violation } from '../verbs/audit-verbs.js';
import { backfills } from './backfill-invariants.js';
import { coalescedRuns } from './coalesced-invariants.js';
import { stretches } from './fire-invariants.js';
import { Audit, type Inspection } from './inspection.js';
import { orphans } from './orphan-invariants.js';
import { dags } from './place-invariants.js';
import { runs } from './run-inspection.js';
import { dates, slots } from './slot-invariants.js';

/** The audit: each of these reads one kind of subject and knows what must hold of it. */
const inspections = [
  dates,
  slots,
  runs,
  orphans,
  dags,
  stretches,
  coalescedRuns,
  backfills,
] as const;

const mostViolations = 1_000;

/** See AuditVerbs. */
export async function checkInvariants(
  context: StoreContext,
  options: AuditOptions = {},
): Promise<AuditReport> {
  const audit = new Audit(context, options, await context.clock.read());
  const violations: Violation[] = [];
  for (const inspection of inspections) {
    await inspect(audit, inspection as Inspection<unknown>, violations);
    if (violations.length >= mostViolations) break;
  }
  return { violations: violations.slice(0, mostViolations), counts: audit.counts };
}

async function inspect<Subject>(
  audit: Audit,
  inspection: Inspection<Subject>,
  violations: Violation[],
): Promise<void> {
  for await (const subject of inspection.read(audit)) {
    const suspects = findAll(audit, inspection, subject);
    if (suspects.length === 0) continue;
    const again = await inspection.again(audit, subject);
    if (again === null) continue;
    const still = new Set(findAll(audit, inspection, again).map(keyOf));
    violations.push(...suspects.filter((one) => still.has(keyOf(one))));
    if (violations.length >= mostViolations) return;
  }
}

function findAll<Subject>(
  audit: Audit,
  inspection: Inspection<Subject>,
  subject: Subject,
): Violation[] {
  return inspection.invariants.flatMap(({ name, check }) =>
    [...check(subject, audit)].map((finding) => ({ invariant: name, ...finding })),
  );
}

/** What it is about, whatever exactly was found. */
function keyOf(violation: Violation): string {
  return `${violation.invariant} ${violation.subject}`;
}
