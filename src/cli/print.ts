// `purser print`: the manifests by which a cluster is registered, ready to be applied.

import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { StartError } from '../config/start-error.ts';
import { namespaces as readNamespaces, ValueError } from '../config/values.ts';
import { repositoryPath } from '../kube/manifests.ts';

/** What `purser print` prints; undefined when another command is given. Throws a StartError for what cannot be printed. */
export async function printedText([command, ...args]: readonly string[]): Promise<string | undefined> {
  if (command !== 'print') return undefined;
  const { what, namespaces } = askedFor(args);
  const { path, recipe } = MANIFESTS[what];
  const text = await readFile(repositoryPath(path), 'utf8');
  return namespaces === undefined ? `${recipe}${text}` : `${narrowRecipe(recipe, namespaces)}${narrowed(text, namespaces)}`;
}

interface Printed {
  /** How it is used, as comments of YAML. */
  readonly recipe: string;
  readonly path: string;
}

const MANIFESTS = {
  'target-rbac': {
    path: 'deploy/target/access.yaml',
    recipe: `# For the cluster that tokens are wanted for:
#   purser print target-rbac | kubectl --context TARGET apply -f -
# The token of the account goes into a Secret on the hub, with the Cluster, addresses and CA that it may be used with:
#   kubectl --context HUB -n purser-system create secret generic target-1-credential \\
#     --from-literal=token="$(kubectl --context TARGET -n purser-system create token purser --duration 8760h)" \\
#     --from-literal=cluster=target-1 --from-literal=server=https://target-1.example.com:6443 --from-file=ca.crt=ca.crt
# (--from-literal=ca.crt=system for a cluster whose certificate a public authority signed)
# and the Cluster that refers to it is in the output of: purser print registration
`,
  },
  registration: {
    path: 'deploy/samples/cluster.yaml',
    recipe: `# For the hub, with your name, addresses and caBundle, all of which the Secret of purser print target-rbac has to name:
#   purser print registration > target-1.yaml; edit it; kubectl --context HUB apply -f target-1.yaml
`,
  },
} as const satisfies Readonly<Record<string, Printed>>;

const USAGE = `print takes one of: ${Object.keys(MANIFESTS).join(', ')}; the first with --namespaces NS,NS for those of the cluster alone`;

/** The account, its role in the namespaces of its tokens, and the binding of the two. */
const ACCOUNT = 'purser';

function askedFor(args: readonly string[]): { readonly what: keyof typeof MANIFESTS; readonly namespaces: readonly string[] | undefined } {
  const { values, positionals } = parsed(args);
  const [what = ''] = positionals;
  if (!isPrinted(what) || positionals.length > 1 || (values.namespaces !== undefined && what !== 'target-rbac'))
    throw new StartError(USAGE);
  try {
    return { what, namespaces: values.namespaces === undefined ? undefined : readNamespaces(values.namespaces) };
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    throw new StartError(`--namespaces must be ${error.message}, not ${JSON.stringify(values.namespaces)}`, { cause: error });
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: { namespaces: { type: 'string' } }, allowPositionals: true });
  } catch (cause) {
    throw new StartError(USAGE, { cause });
  }
}

function isPrinted(what: string): what is keyof typeof MANIFESTS {
  return Object.hasOwn(MANIFESTS, what);
}

function narrowRecipe(recipe: string, namespaces: readonly string[]): string {
  const own = recipe.replace(' | ', ` --namespaces ${namespaces.join(',')} | `);
  return `${own}# Where Purser had these rights everywhere until now: kubectl --context TARGET delete clusterrolebinding ${ACCOUNT}\n`;
}

/** The same rights in these namespaces instead of everywhere; what no namespace can have stays as it is. */
function narrowed(text: string, namespaces: readonly string[]): string {
  const wide = `kind: ClusterRoleBinding\nmetadata:\n  name: ${ACCOUNT}\n`;
  const narrow = (namespace: string) => `kind: RoleBinding\nmetadata:\n  name: ${ACCOUNT}\n  namespace: ${namespace}\n`;
  const documents = text.split(SEPARATOR);
  return documents
    .flatMap((document) =>
      document.includes(wide) ? namespaces.map((namespace) => document.replace(wide, narrow(namespace))) : [document],
    )
    .join(SEPARATOR);
}

const SEPARATOR = '---\n';
