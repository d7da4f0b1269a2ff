// `purser print`: the manifests by which a cluster is registered, ready to be applied.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartError } from './config/start-error.ts';

/** What `purser print` prints; undefined when another command is given. Throws a StartError for what cannot be printed. */
export async function printedText([command, what = '', ...others]: readonly string[]): Promise<string | undefined> {
  if (command !== 'print') return undefined;
  const found = Object.hasOwn(MANIFESTS, what) ? MANIFESTS[what] : undefined;
  if (found === undefined || others.length > 0) throw new StartError(`print takes one of: ${Object.keys(MANIFESTS).join(', ')}`);
  return `${found.recipe}${await readFile(join(import.meta.dirname, '..', found.path), 'utf8')}`;
}

interface Printed {
  /** How it is used, as comments of YAML. */
  readonly recipe: string;
  readonly path: string;
}

const MANIFESTS: Readonly<Record<string, Printed>> = {
  'target-rbac': {
    path: 'deploy/target/access.yaml',
    recipe: `# For the cluster that tokens are wanted for:
#   purser print target-rbac | kubectl --context TARGET apply -f -
# The token of the account, and the addresses that it may be sent to, go into a Secret on the hub:
#   kubectl --context HUB -n purser-system create secret generic target-1-credential \\
#     --from-literal=token="$(kubectl --context TARGET -n purser-system create token purser --duration 8760h)" \\
#     --from-literal=server=https://target-1.example.com:6443
# and the Cluster that refers to it is in the output of: purser print registration
`,
  },
  registration: {
    path: 'deploy/samples/cluster.yaml',
    recipe: `# For the hub, with names, addresses and credential of your own:
#   purser print registration > target-1.yaml; edit it; kubectl --context HUB apply -f target-1.yaml
`,
  },
};
