// Manifests that `purser print` prints, with instructions.

import { readFile } from 'node:fs/promises';
import { DefaultNamespace, FederatedServiceAccount, Label } from '../api/names.ts';
import { resolveRepositoryPath } from '../kube/manifests.ts';

export interface TargetAccessOptions {
  /** Namespaces of the service accounts that Purser can issue tokens for; undefined for all. */
  readonly namespaces?: readonly string[];
  /** Purser's user name on the target with federation; undefined if Purser uses a service account on the target. */
  readonly user?: string;
}

/** Returns the manifests of Purser's permissions on a target cluster and, unless `user` is set, of Purser's service account there. */
export async function renderTargetAccess({ namespaces: names, user }: TargetAccessOptions): Promise<string> {
  const documents = (await readManifest('deploy/target/access.yaml')).split(SEPARATOR);
  const limited = names === undefined ? documents : documents.flatMap((document) => limitToNamespaces(document, names));
  // With federation, Purser has no credential to renew, and no service account on the target.
  const granted = user === undefined ? limited : limited.flatMap((document) => grantToUser(document, user));
  const renewal = names === undefined || user !== undefined ? [] : [await readManifest(RENEWAL)];
  return renderTargetRecipe(names, user) + [...granted, ...renewal].join(SEPARATOR);
}

/** Returns a Cluster manifest for the user to edit, with the cluster set label if `set` is given. */
export async function renderRegistration(set?: string): Promise<string> {
  const cluster = await readManifest('deploy/samples/cluster.yaml');
  // Quoted: YAML would read some names as numbers.
  const labeled = set === undefined ? cluster : cluster.replace('  labels:\n', (labels) => `${labels}    ${Label.clusterSet}: '${set}'\n`);
  return `${renderRegistrationRecipe(set)}${labeled}`;
}

export interface HubAccessOptions {
  /** Service accounts for federation. */
  readonly serviceAccount: readonly string[];
  /** Purser's namespace on the hub; undefined for the default. */
  readonly namespace?: string;
  /** True if the controller and the façade run as separate Deployments. */
  readonly apart?: boolean;
}

/** Returns the manifests of the service accounts for federation, and of Purser's permission to request tokens for them. */
export async function renderHubAccess({
  serviceAccount: names,
  namespace: own,
  apart: isApart = false,
}: HubAccessOptions): Promise<string> {
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

async function readManifest(path: string): Promise<string> {
  return await readFile(resolveRepositoryPath(path), 'utf8');
}

function renderRegistrationRecipe(set: string | undefined): string {
  return `# Write this manifest to a file:
#   purser print registration${set === undefined ? '' : ` --set ${set}`} > target-1.yaml
# In the file, set name, addresses and caBundle to the values in the credential Secret (see purser print target-rbac), and set the name of
# the Secret. Then apply the file to the hub:
#   kubectl --context HUB apply -f target-1.yaml
`;
}

/**
 * Path of the manifest with the permissions to renew Purser's credential. Needed only with `namespaces`: permissions in all namespaces
 * include the permissions to renew.
 */
const RENEWAL = 'deploy/target/namespaces/renewal.yaml';

/** Name of Purser's service account on a target cluster, and of the role and bindings for issuing tokens there. */
const SERVICE_ACCOUNT = 'purser';

function renderTargetRecipe(names: readonly string[] | undefined, user: string | undefined): string {
  const options = [
    ...(names === undefined ? [] : [`--namespaces ${names.join(',')}`]),
    ...(user === undefined ? [] : [`--user '${user}'`]),
  ];
  const wide =
    names === undefined
      ? ''
      : `# To withdraw permissions that Purser had in all namespaces before, run: kubectl --context TARGET delete clusterrolebinding ${SERVICE_ACCOUNT}\n`;
  return `# Apply to the target cluster:
#   ${['purser print target-rbac', ...options].join(' ')} | kubectl --context TARGET apply -f -
${user === undefined ? TOKEN_RECIPE : renderFederationRecipe(user)}# If a public CA signed the certificate of the target cluster, use --from-literal=ca.crt=system.
# For the Cluster that refers to this Secret, run: purser print registration
${wide}`;
}

const TOKEN_RECIPE = `# On the hub, create a Secret that contains a token for the service account, and the name, addresses and CA of the Cluster:
#   kubectl --context HUB -n purser-system create secret generic target-1-credential \\
#     --from-literal=token="$(kubectl --context TARGET -n purser-system create token purser --duration 1h)" \\
#     --from-literal=cluster=target-1 --from-literal=server=https://target-1.example.com:6443 --from-file=ca.crt=ca.crt
# When a Cluster refers to this Secret, Purser obtains its own token, and stores and renews that token in the Secret
# target-1-credential-renewed. Purser never changes your Secret.
`;

function renderFederationRecipe(user: string): string {
  const serviceAccount = user.split(':').at(-1);
  return `# For the configuration of the target's API server, run purser print authentication-config; for the permissions on the hub, run
# purser print hub-rbac.
# On the hub, create a Secret that contains the names of the service account and the Cluster, and the Cluster's addresses and CA:
#   kubectl --context HUB -n purser-system create secret generic target-1-credential --from-literal=serviceAccount=${serviceAccount} \\
#     --from-literal=cluster=target-1 --from-literal=server=https://target-1.example.com:6443 --from-file=ca.crt=ca.crt
`;
}

/** Replaces the ClusterRoleBinding `purser` with a RoleBinding in each namespace; keeps other objects. */
function limitToNamespaces(document: string, names: readonly string[]): readonly string[] {
  const wide = `kind: ClusterRoleBinding\nmetadata:\n  name: ${SERVICE_ACCOUNT}\n`;
  if (!document.includes(wide)) return [document];
  return names.map((name) => document.replace(wide, `kind: RoleBinding\nmetadata:\n  name: ${SERVICE_ACCOUNT}\n  namespace: ${name}\n`));
}

/**
 * Returns a manifest with a user in place of Purser's service account as the subject of a binding. Returns no manifest for the service
 * account, its namespace, and the permission to list the anchors of its tokens.
 */
function grantToUser(document: string, user: string): readonly string[] {
  if (/^kind: (Namespace|ServiceAccount)$|^ {2}name: purser-anchors$/m.test(document)) return [];
  // The replacement is a function, because `$` in a user name would be special in a replacement string.
  return [document.replace(SUBJECT, () => `  - kind: User\n    apiGroup: rbac.authorization.k8s.io\n    name: '${user}'\n`)];
}

/** YAML of Purser's service account as a subject of a binding, on the hub and on a target. */
const SUBJECT = `  - kind: ServiceAccount\n    namespace: ${DefaultNamespace}\n    name: ${SERVICE_ACCOUNT}\n`;

const SEPARATOR = '---\n';
