import { hello, oldestWireVersion, type StoreContext } from '../context.js';
import type { DeploymentFacts } from '../verbs/examination-verbs.js';

/** See ExaminationVerbs. */
export async function examineDeployment(context: StoreContext): Promise<DeploymentFacts> {
  const [said, build] = await Promise.all([
    hello(context.db),
    context.db.admin().command({ buildInfo: 1 }),
  ]);
  const kind =
    said.msg === 'isdbgrid' ? 'sharded' : said.setName === undefined ? 'standalone' : 'replica-set';
  return {
    kind,
    version: String(build.version),
    isSupported: said.maxWireVersion >= oldestWireVersion,
    hasTransactions: kind !== 'standalone',
  };
}
