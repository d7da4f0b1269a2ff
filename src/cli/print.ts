// `purser print`: prints manifests that register a target cluster.

import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { StartError } from '../config/start-error.ts';
import { namespaces as readNamespaces, ValueError } from '../config/values.ts';
import { repositoryPath } from '../kube/manifests.ts';

/** Returns the output of `purser print` and `purser help print`; undefined for other commands. Throws a StartError for invalid arguments. */
export async function printManifests([command, ...args]: readonly string[]): Promise<string | undefined> {
  if (command === 'help' && args[0] === 'print') return HELP;
  if (command !== 'print') return undefined;
  if (args.includes('--help')) return HELP;
  const { name, namespaces } = parsePrintArguments(args);
  const { path, recipe } = MANIFESTS[name];
  const text = await readFile(repositoryPath(path), 'utf8');
  if (namespaces === undefined) return `${recipe}${text}`;
  const renewal = await readFile(repositoryPath(RENEWAL), 'utf8');
  return [limitRecipe(recipe, namespaces) + limitToNamespaces(text, namespaces), renewal].join(SEPARATOR);
}

interface Manifest {
  /** Instructions, as YAML comments. */
  readonly recipe: string;
  readonly path: string;
}

const MANIFESTS = {
  'target-rbac': {
    path: 'deploy/target/access.yaml',
    recipe: `# Apply to the target cluster:
#   purser print target-rbac | kubectl --context TARGET apply -f -
# On the hub, create a Secret with a token of the service account, and the Cluster, addresses and CA that the token is for:
#   kubectl --context HUB -n purser-system create secret generic target-1-credential \\
#     --from-literal=token="$(kubectl --context TARGET -n purser-system create token purser --duration 1h)" \\
#     --from-literal=cluster=target-1 --from-literal=server=https://target-1.example.com:6443 --from-file=ca.crt=ca.crt
# Purser replaces the token at once and renews it; the Secret itself stays unchanged.
# If a public CA signed the certificate of the target cluster, use --from-literal=ca.crt=system.
# For the Cluster that refers to this Secret, run: purser print registration
`,
  },
  registration: {
    path: 'deploy/samples/cluster.yaml',
    recipe: `# Set name, addresses and caBundle to the values in the Secret of purser print target-rbac, then apply to the hub:
#   purser print registration > target-1.yaml
#   kubectl --context HUB apply -f target-1.yaml
`,
  },
} as const satisfies Readonly<Record<string, Manifest>>;

const HELP = `Usage: purser print target-rbac [--namespaces NS,NS]
       purser print registration

Prints manifests that register a target cluster, with instructions.

Manifests:
  target-rbac   service account and permissions of Purser, for the target cluster
  registration  Cluster, for the hub

Options:
  --namespaces NS,NS  namespaces of the service accounts that Purser can issue tokens for (default all)
`;

const USAGE = 'usage: purser print target-rbac [--namespaces NS,NS], or purser print registration';

/** Permissions to renew Purser's credential, which permissions in all namespaces include. */
const RENEWAL = 'deploy/target/namespaces/renewal.yaml';

/** Name of Purser's service account on a target cluster, of its role and of the role binding. */
const SERVICE_ACCOUNT = 'purser';

function parsePrintArguments(args: readonly string[]): {
  readonly name: keyof typeof MANIFESTS;
  readonly namespaces: readonly string[] | undefined;
} {
  const { values, positionals } = parse(args);
  const [name = ''] = positionals;
  if (!isManifest(name) || positionals.length > 1 || (values.namespaces !== undefined && name !== 'target-rbac'))
    throw new StartError(USAGE);
  try {
    return { name, namespaces: values.namespaces === undefined ? undefined : readNamespaces(values.namespaces) };
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    throw new StartError(`--namespaces must be ${error.message}, not ${JSON.stringify(values.namespaces)}`, { cause: error });
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: { namespaces: { type: 'string' } }, allowPositionals: true });
  } catch (cause) {
    throw new StartError(USAGE, { cause });
  }
}

function isManifest(name: string): name is keyof typeof MANIFESTS {
  return Object.hasOwn(MANIFESTS, name);
}

function limitRecipe(recipe: string, namespaces: readonly string[]): string {
  const limited = recipe.replace(' | ', ` --namespaces ${namespaces.join(',')} | `);
  return `${limited}# If Purser had these permissions in all namespaces before, run: kubectl --context TARGET delete clusterrolebinding ${SERVICE_ACCOUNT}\n`;
}

/** Replaces Purser's ClusterRoleBinding by a RoleBinding in each namespace; keeps other objects. */
function limitToNamespaces(text: string, namespaces: readonly string[]): string {
  const wide = `kind: ClusterRoleBinding\nmetadata:\n  name: ${SERVICE_ACCOUNT}\n`;
  const narrow = (namespace: string) => `kind: RoleBinding\nmetadata:\n  name: ${SERVICE_ACCOUNT}\n  namespace: ${namespace}\n`;
  const documents = text.split(SEPARATOR);
  return documents
    .flatMap((document) =>
      document.includes(wide) ? namespaces.map((namespace) => document.replace(wide, narrow(namespace))) : [document],
    )
    .join(SEPARATOR);
}

const SEPARATOR = '---\n';
