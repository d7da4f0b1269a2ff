// `purser print`: prints manifests and configuration that register a target cluster.

import { readFile } from 'node:fs/promises';
import { DefaultNamespace, FederatedServiceAccount, OwnServiceAccounts } from '../api/names.ts';
import { StartError } from '../config/start-error.ts';
import { flag, namespace, namespaces, objectName, type Parser, ValueError } from '../config/values.ts';
import { repositoryPath } from '../kube/manifests.ts';
import { printAuthenticationConfig } from './authentication-config.ts';
import { type KnownOptions, type PrintOptions, parsePrintOptions } from './print-options.ts';

/** Returns the output of `purser print` and `purser help print`; undefined for other commands. Throws a StartError for invalid arguments. */
export async function printManifests([command, ...args]: readonly string[]): Promise<string | undefined> {
  if (command === 'help' && args[0] === 'print') return HELP;
  if (command !== 'print') return undefined;
  if (args.includes('--help')) return HELP;
  const [name = '', ...options] = args;
  if (!Object.hasOwn(PRINTERS, name)) throw new StartError(USAGE);
  const { options: known, print } = PRINTERS[name as keyof typeof PRINTERS];
  return await print(parsePrintOptions(options, known, USAGE));
}

interface Printer {
  readonly options: KnownOptions;
  readonly print: (options: PrintOptions) => Promise<string>;
}

const TEXT = { type: 'string', multiple: true } as const;

const PRINTERS = {
  'target-rbac': { options: { namespaces: TEXT, user: TEXT }, print: printTargetAccess },
  registration: {
    options: {},
    print: async () => `${REGISTRATION}${await readManifest('deploy/samples/cluster.yaml')}`,
  },
  'hub-rbac': { options: { 'service-account': TEXT, namespace: TEXT, apart: { type: 'boolean' } }, print: printHubAccess },
  'authentication-config': {
    options: {
      issuer: TEXT,
      'target-issuer': TEXT,
      server: TEXT,
      'service-account': TEXT,
      namespace: TEXT,
      ca: TEXT,
      'discovery-url': TEXT,
      'kubernetes-version': TEXT,
    },
    print: printAuthenticationConfig,
  },
} as const satisfies Readonly<Record<string, Printer>>;

const HELP = `Usage: purser print target-rbac [--namespaces NS,NS] [--user USER]
       purser print registration
       purser print hub-rbac --service-account NAME [OPTIONS]
       purser print authentication-config --issuer URL --server ADDRESS [--server ADDRESS] [OPTIONS]

Prints manifests and configuration that register a target cluster, with instructions.

Manifests:
  target-rbac            service account and permissions of Purser, for the target cluster
  registration           Cluster, for the hub
  hub-rbac               service account for federation, and Purser's permission to request its tokens, for the hub
  authentication-config  configuration of the target cluster's API server, so that it accepts tokens of the hub (federation)

Options of target-rbac:
  --namespaces NS,NS  namespaces of the service accounts that Purser can issue tokens for (default all)
  --user USER         user of a federated Purser on the target cluster, in place of a service account there

Options of hub-rbac:
  --service-account NAME  service account in Purser's namespace, for federation; can be repeated
  --namespace NS          namespace of Purser on the hub (default ${DefaultNamespace})
  --apart                 grant to the service accounts of the controller and the façade that run apart

Options of authentication-config:
  --issuer URL                  issuer of the hub's service account tokens
  --target-issuer URL           issuer of the target cluster's service account tokens, to check that it differs from --issuer
  --server ADDRESS              address of the target cluster, exactly as the key server of the Secret spells it; can be repeated
  --service-account NAME        service account for federation on the hub (default ${FederatedServiceAccount})
  --namespace NS                namespace of Purser on the hub (default ${DefaultNamespace})
  --ca FILE                     PEM file with the certificate authority of the issuer (default public authorities)
  --discovery-url URL           URL of the hub's discovery document, if it differs from the issuer's
  --kubernetes-version VERSION  version of the target cluster, such as 1.30 (default 1.34 or later)
`;

const USAGE =
  'usage: purser print target-rbac, registration, hub-rbac or authentication-config, with options (for all options, run purser help print)';

async function readManifest(path: string): Promise<string> {
  return await readFile(repositoryPath(path), 'utf8');
}

const REGISTRATION = `# Set name, addresses and caBundle to the values in the Secret of purser print target-rbac, then apply to the hub:
#   purser print registration > target-1.yaml
#   kubectl --context HUB apply -f target-1.yaml
`;

/** Permissions to renew Purser's credential, which permissions in all namespaces include. */
const RENEWAL = 'deploy/target/namespaces/renewal.yaml';

/** Name of Purser's service account on a target cluster, of its role and of the role binding. */
const SERVICE_ACCOUNT = 'purser';

async function printTargetAccess(options: PrintOptions): Promise<string> {
  const names = options.one('namespaces', namespaces);
  const user = options.one('user', userName);
  const documents = (await readManifest('deploy/target/access.yaml')).split(SEPARATOR);
  const limited = names === undefined ? documents : documents.flatMap((document) => limitToNamespaces(document, names));
  // A federated Purser has no credential to renew, and no service account on the target.
  const granted = user === undefined ? limited : limited.flatMap((document) => grantToUser(document, user));
  const renewal = names === undefined || user !== undefined ? [] : [await readManifest(RENEWAL)];
  return targetRecipe(names, user) + [...granted, ...renewal].join(SEPARATOR);
}

/** Parses the name of a user, which is quoted in manifests and commands. */
const userName: Parser<string> = (text) => {
  if (!/^[^\p{C}\s'"]+$/u.test(text)) throw new ValueError('a user name without quotes and white space');
  return text;
};

function targetRecipe(names: readonly string[] | undefined, user: string | undefined): string {
  const options = [
    ...(names === undefined ? [] : [`--namespaces ${names.join(',')}`]),
    ...(user === undefined ? [] : [`--user '${user}'`]),
  ];
  const wide =
    names === undefined
      ? ''
      : `# If Purser had these permissions in all namespaces before, run: kubectl --context TARGET delete clusterrolebinding ${SERVICE_ACCOUNT}\n`;
  return `# Apply to the target cluster:
#   ${['purser print target-rbac', ...options].join(' ')} | kubectl --context TARGET apply -f -
${user === undefined ? TOKEN_RECIPE : federationRecipe(user)}# If a public CA signed the certificate of the target cluster, use --from-literal=ca.crt=system.
# For the Cluster that refers to this Secret, run: purser print registration
${wide}`;
}

const TOKEN_RECIPE = `# On the hub, create a Secret with a token of the service account, and the Cluster, addresses and CA that the token is for:
#   kubectl --context HUB -n purser-system create secret generic target-1-credential \\
#     --from-literal=token="$(kubectl --context TARGET -n purser-system create token purser --duration 1h)" \\
#     --from-literal=cluster=target-1 --from-literal=server=https://target-1.example.com:6443 --from-file=ca.crt=ca.crt
# Purser replaces the token at once and renews it; the Secret itself stays unchanged.
`;

function federationRecipe(user: string): string {
  const serviceAccount = user.split(':').at(-1);
  return `# For the configuration of its API server, run purser print authentication-config; for the permissions on the hub, purser print hub-rbac.
# On the hub, create a Secret with the name of the service account, and the Cluster, addresses and CA that its tokens are for:
#   kubectl --context HUB -n purser-system create secret generic target-1-credential --from-literal=serviceAccount=${serviceAccount} \\
#     --from-literal=cluster=target-1 --from-literal=server=https://target-1.example.com:6443 --from-file=ca.crt=ca.crt
`;
}

/** Replaces Purser's ClusterRoleBinding by a RoleBinding in each namespace; keeps other objects. */
function limitToNamespaces(document: string, names: readonly string[]): readonly string[] {
  const wide = `kind: ClusterRoleBinding\nmetadata:\n  name: ${SERVICE_ACCOUNT}\n`;
  if (!document.includes(wide)) return [document];
  return names.map((name) => document.replace(wide, `kind: RoleBinding\nmetadata:\n  name: ${SERVICE_ACCOUNT}\n  namespace: ${name}\n`));
}

/** Grants to a user instead of Purser's service account; omits the service account, its namespace, and permissions for its own tokens. */
function grantToUser(document: string, user: string): readonly string[] {
  if (/^kind: (Namespace|ServiceAccount)$|^ {2}name: purser-anchors$/m.test(document)) return [];
  // A function, because a user name may contain `$`.
  return [document.replace(SUBJECT, () => `  - kind: User\n    apiGroup: rbac.authorization.k8s.io\n    name: '${user}'\n`)];
}

/** Purser's service account in the subjects of a binding, on the hub and on a target. */
const SUBJECT = `  - kind: ServiceAccount\n    namespace: ${DefaultNamespace}\n    name: ${SERVICE_ACCOUNT}\n`;

/** Parses the name of a service account for federation. */
const federatedAccount: Parser<string> = (text) => {
  const name = objectName(text);
  if (OwnServiceAccounts.includes(name)) throw new ValueError('another service account than those that Purser runs as');
  return name;
};

async function printHubAccess(options: PrintOptions): Promise<string> {
  const names = options.all('service-account', federatedAccount);
  if (names.length === 0) throw new StartError(USAGE);
  const own = options.one('namespace', namespace);
  const isApart = options.one('apart', flag) === true;
  const apart = ['controller', 'facade'].map((part) => SUBJECT.replace(/\n$/, `-${part}\n`)).join('');
  const text = (await readManifest('deploy/components/federation/access.yaml')).replace(SUBJECT, isApart ? apart : SUBJECT);
  const [serviceAccount = '', ...others] = text.split(SEPARATOR);
  const accounts = names.map((name) => serviceAccount.replace(`name: ${FederatedServiceAccount}`, `name: ${name}`));
  const given = [
    ...names.map((name) => `--service-account ${name}`),
    ...(own === undefined ? [] : [`--namespace ${own}`]),
    ...(isApart ? ['--apart'] : []),
  ];
  const recipe = `# Apply to the hub:\n#   purser print hub-rbac ${given.join(' ')} | kubectl --context HUB apply -f -\n`;
  const granted = [...accounts, ...others].join(SEPARATOR).replace(`[${FederatedServiceAccount}]`, `[${names.join(', ')}]`);
  return recipe + granted.replaceAll(`namespace: ${DefaultNamespace}\n`, `namespace: ${own ?? DefaultNamespace}\n`);
}

const SEPARATOR = '---\n';
