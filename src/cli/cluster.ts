// `purser cluster`: commands for registered clusters.

import { type Argument, type Command, Option } from 'commander';
import { DefaultNamespace, FederatedServiceAccount, Label } from '../api/names.ts';
import { StartError } from '../config/start-error.ts';
import { anyText, objectName, type Parser, ValueError } from '../config/values.ts';
import { validateLabelValue, validateQualifiedName } from '../kubernetes/names.ts';
import type { Peer } from './cluster/peer.ts';
import type { TargetRegistration } from './cluster/registration.ts';
import type { CommandHost } from './command.ts';
import { addExamples, defineArgument, defineCommand, defineOption, defineRepeatableOption, defineSingleOption } from './command-line.ts';
import type { Connections } from './connection.ts';
import {
  defineContextOption,
  defineHubContextOption,
  defineKubeconfigOption,
  defineOutputOption,
  defineOwnNamespaceOption,
  defineSetOption,
  defineTargetContextOption,
  defineTargetNamespacesOption,
  defineTimeoutOption,
  federatedServiceAccount,
  type SharedOptions,
} from './options.ts';

/** Returns `purser cluster` with its commands. */
export function defineClusterCommand(host: CommandHost): Command {
  return defineCommand(host, 'cluster', 'manage registered clusters')
    .description('Manage registered clusters. The commands connect to the hub and to target clusters with contexts in your kubeconfig.')
    .addCommand(defineAddCommand(host))
    .addCommand(defineListCommand(host))
    .addCommand(defineShowCommand(host))
    .addCommand(defineRenewCommand(host))
    .addCommand(defineRevokeCommand(host))
    .addCommand(defineRemoveCommand(host));
}

function defineNameArgument(name: '<NAME>' | '[NAME]'): Argument {
  return defineArgument(name, 'name of the Cluster', objectName);
}

interface AddOptions extends SharedOptions {
  readonly context: string;
  readonly namespaces?: readonly string[];
  readonly server?: string;
  readonly allowLoopback?: true;
  readonly label?: readonly (readonly [string, string])[];
  readonly set?: string;
  readonly federated?: true;
  readonly serviceAccount?: string;
  readonly dryRun?: true;
  readonly output?: 'json' | 'yaml';
}

function defineAddCommand(host: CommandHost): Command {
  const command = defineCommand(host, 'add', 'register a target cluster')
    .description(
      "Register a target cluster: create Purser's service account and permissions there, create a credential Secret and a Cluster on the hub, and wait until the Cluster is Ready.",
    )
    .addArgument(defineNameArgument('<NAME>'))
    .addOption(defineTargetContextOption(TARGET_CONTEXT).makeOptionMandatory())
    .addOption(defineHubContextOption())
    .addOption(defineKubeconfigOption())
    .addOption(defineOwnNamespaceOption())
    .addOption(defineTargetNamespacesOption())
    .addOption(defineSingleOption('--server <URL>', ADDRESS, anyText).default(undefined, 'the address of the context in --context'))
    .option(
      '--allow-loopback',
      'accept a loopback address; Purser must then run on this machine, with purser dev or purser run --allow-loopback',
    )
    .addOption(defineRepeatableOption('--label <KEY=VALUE>', 'label of the Cluster', label))
    .addOption(defineSetOption())
    .option('--federated', 'store no token: the target cluster must trust tokens issued by the hub')
    .addOption(
      defineSingleOption('--service-account <NAME>', FEDERATED_SERVICE_ACCOUNT, federatedServiceAccount).default(
        undefined,
        FederatedServiceAccount,
      ),
    )
    .option('--dry-run', 'send no requests, and print the objects for both clusters, with TOKEN in place of the token')
    .addOption(defineOutputOption(['yaml', 'json'], 'with --dry-run, output format').default(undefined, 'yaml'))
    .addOption(defineTimeoutOption('1m', 'maximum time to wait until the Cluster is Ready (0 does not wait)'));
  addExamples(command, {
    'Register the cluster of the context prod-eu': 'purser cluster add prod-eu --context prod-eu --hub-context hub',
    'Let Purser issue tokens only in two namespaces of the target cluster, and label the Cluster':
      'purser cluster add prod-eu --context prod-eu --namespaces deploy,argocd --label env=prod --set prod',
    'Register a kind cluster with an address that a kind hub on the same machine can reach':
      'purser cluster add dev --context kind-dev --server https://dev-control-plane:6443',
  });
  return command.action(async (name: string, options: AddOptions) => {
    checkCombination(options);
    await using connections = await connect(host, options);
    const { addCluster, printObjects } = await import('./cluster/add.ts');
    const registration = await resolveRegistration(connections, name, options);
    const serviceAccount = options.federated === true ? (options.serviceAccount ?? FederatedServiceAccount) : undefined;
    if (options.dryRun === true) return await printObjects({ registration, serviceAccount }, options.output ?? 'yaml', host);
    const hub = await connections.openPeer('hub', options.hubContext);
    const target = await connections.openPeer('target cluster', options.context);
    await addCluster({ hub, target, registration, serviceAccount, timeoutMs: options.timeout ?? 0 }, host);
  });
}

/** Throws a StartError if an option is set without the option that it requires. */
function checkCombination({ serviceAccount, federated, output, dryRun }: AddOptions): void {
  if (serviceAccount !== undefined && federated !== true)
    throw new StartError('--service-account needs --federated. Set --federated, or omit --service-account');
  if (output !== undefined && dryRun !== true) throw new StartError('--output needs --dry-run. Set --dry-run, or omit --output');
}

async function resolveRegistration(connections: Connections, name: string, options: AddOptions): Promise<TargetRegistration> {
  const { toRegistration } = await import('./cluster/context.ts');
  const { namespace = DefaultNamespace, label: given = [], set } = options;
  const labels = Object.fromEntries([...given, ...(set === undefined ? [] : [[Label.clusterSet, set] as const])]);
  const context = { name: options.context, ...(await connections.readServer(options.context)) };
  return await toRegistration({ ...options, name, namespace, labels, context });
}

const TARGET_CONTEXT =
  "context of the target cluster (required); the context's user needs permission to read and write namespaces, service accounts, roles and bindings, to create tokens, and all permissions that Purser receives there";
const ADDRESS = 'address at which Purser reaches the target cluster';
const FEDERATED_SERVICE_ACCOUNT =
  "with --federated, service account in Purser's namespace on the hub whose tokens the target cluster must accept";

function defineListCommand(host: CommandHost): Command {
  const command = defineCommand(host, 'list', 'list registered clusters with their health')
    .description("List registered clusters with their health, latency, and the expiry of Purser's credential.")
    .addOption(defineOption('-l, --selector <SELECTOR>', 'label selector, such as env=prod', anyText).default(undefined, 'all Clusters'))
    .addOption(defineOutputOption().default(undefined, 'table'))
    .addOption(defineContextOption())
    .addOption(defineKubeconfigOption());
  addExamples(command, {
    'List all clusters with their addresses and credential Secrets': 'purser cluster list -o wide',
    'List the production clusters': 'purser cluster list -l env=prod',
    'Print the names for a script': 'purser cluster list -o name',
  });
  return command.action(async (options: SharedOptions & { readonly selector?: string }) => {
    await using connections = await connect(host, options);
    const { listClusters } = await import('./cluster/fleet.ts');
    const hub = await connections.openPeer('hub', options.context);
    await listClusters(hub, { output: options.output, selector: options.selector }, host);
  });
}

function defineShowCommand(host: CommandHost): Command {
  const command = defineCommand(host, 'show', 'show the conditions, addresses, credential and events of a cluster')
    .description('Show the conditions with their messages, the addresses, the credential and the latest events of a cluster.')
    .addArgument(defineNameArgument('<NAME>'))
    .addOption(defineOutputOption(['wide', 'json', 'yaml', 'name']).default(undefined, 'text'))
    .addOption(defineContextOption())
    .addOption(defineKubeconfigOption());
  addExamples(command, {
    'Show why a cluster is not Ready': 'purser cluster show prod-eu --context hub',
    'Print the Cluster object': 'purser cluster show prod-eu -o yaml',
  });
  return command.action(async (name: string, options: SharedOptions) => {
    await using connections = await connect(host, options);
    const { showCluster } = await import('./cluster/fleet.ts');
    await showCluster(await connections.openPeer('hub', options.context), name, options.output, host);
  });
}

function defineRenewCommand(host: CommandHost): Command {
  const command = defineCommand(host, 'renew', "renew Purser's credential for a cluster")
    .description("Renew Purser's credential for a cluster, or for all clusters whose credential Purser can renew, and wait for the result.")
    .addArgument(defineNameArgument('[NAME]'))
    .option(
      '--all',
      "renew Purser's tokens for all Clusters, except Clusters with spec.credential.renewal Manual, federation or a client certificate; if a context has the address of a Cluster, use that context as with --context",
    )
    .addOption(defineTargetContextOption(SUPPLY_CONTEXT))
    .addOption(defineHubContextOption())
    .addOption(defineKubeconfigOption())
    .addOption(defineTimeoutOption('2m', 'maximum time to wait for the renewal (0 checks once)'));
  addExamples(command, {
    'Renew a credential that is still valid': 'purser cluster renew prod-eu --hub-context hub',
    'Replace a credential that has expired': 'purser cluster renew prod-eu --hub-context hub --context prod-eu',
    'Replace all tokens that Purser can renew, after the hub was restored from a backup': 'purser cluster renew --all --hub-context hub',
  });
  return command.action(async (name: string | undefined, options: SharedOptions & { readonly all?: true }) => {
    const { context, timeout: timeoutMs = 0 } = options;
    if ((name === undefined) !== (options.all === true))
      throw new StartError('purser cluster renew needs either the name of a Cluster or --all. Set one of the two');
    if (name === undefined && context !== undefined)
      throw new StartError('--context is for one Cluster, but --all selects all Clusters. Omit --context or --all');
    await using connections = await connect(host, options);
    const { renewAll, renewCredential } = await import('./cluster/renew.ts');
    const hub = await connections.openPeer('hub', options.hubContext);
    if (name !== undefined)
      return await renewCredential({ name, hub, target: await openOptionalTarget(connections, context), timeoutMs }, host);
    const findTarget = async (addresses: readonly string[]) =>
      await openOptionalTarget(connections, await connections.findContext(addresses));
    await renewAll({ hub, timeoutMs, findTarget }, host);
  });
}

const SUPPLY_CONTEXT =
  "context of the target cluster; if set, the command issues a new token for Purser's service account there and writes it into the credential Secret";

function defineRevokeCommand(host: CommandHost): Command {
  const command = defineCommand(host, 'revoke', "revoke Purser's earlier tokens for a cluster")
    .description(
      "Replace Purser's credential for a cluster, and revoke the earlier tokens that Purser obtained for itself and bound to anchors (Secrets on the target cluster).",
    )
    .addArgument(defineNameArgument('<NAME>'))
    .addOption(defineTargetContextOption(RECREATE_CONTEXT))
    .addOption(defineHubContextOption())
    .addOption(defineKubeconfigOption())
    .addOption(defineTimeoutOption('2m', 'maximum time to wait for the revocation (0 checks once)'));
  addExamples(command, {
    "Replace Purser's credential, and revoke its earlier tokens": 'purser cluster revoke target-1 --hub-context hub',
    "Re-create Purser's service account after a token was stolen": 'purser cluster revoke target-1 --hub-context hub --context target-1',
  });
  return command.action(async (name: string, options: SharedOptions) => {
    await using connections = await connect(host, options);
    const { revokeEarlierTokens } = await import('./cluster/revoke.ts');
    const hub = await connections.openPeer('hub', options.hubContext);
    const target = await openOptionalTarget(connections, options.context);
    await revokeEarlierTokens({ name, hub, target, timeoutMs: options.timeout ?? 0 }, host);
  });
}

const RECREATE_CONTEXT =
  "context of the target cluster; if set, the command also re-creates Purser's service account there, which revokes all tokens of the service account";

interface RemoveOptions extends SharedOptions {
  readonly purgeTarget?: true;
  readonly yes?: true;
}

function defineRemoveCommand(host: CommandHost): Command {
  const command = defineCommand(host, 'remove', 'remove a registered cluster')
    .description("List the ManagedTokens that use a Cluster, then remove the Cluster and Purser's credential for it from the hub.")
    .addArgument(defineNameArgument('<NAME>'))
    .option(
      '--purge-target',
      "also delete Purser's permissions, its service account and the anchors (Secrets that tokens are bound to) on the target cluster; needs --context",
    )
    .addOption(defineTargetContextOption('with --purge-target, context of the target cluster'))
    .addOption(defineHubContextOption())
    .addOption(defineKubeconfigOption())
    .addOption(defineOwnNamespaceOption())
    .addOption(new Option('-y, --yes', 'remove without confirmation'));
  addExamples(command, {
    'Remove a cluster from the hub': 'purser cluster remove prod-eu --hub-context hub',
    "Remove a cluster, and Purser's access to it": 'purser cluster remove prod-eu --hub-context hub --purge-target --context prod-eu',
  });
  return command.action(async (name: string, options: RemoveOptions) => {
    const { context, namespace = DefaultNamespace } = options;
    if ((options.purgeTarget === true) !== (context !== undefined))
      throw new StartError(
        '--purge-target and --context must be set together: the context selects the target cluster to purge. Set both, or omit both',
      );
    await using connections = await connect(host, options);
    const { removeCluster } = await import('./cluster/remove.ts');
    const hub = await connections.openPeer('hub', options.hubContext);
    const target = await openOptionalTarget(connections, context);
    await removeCluster({ name, namespace, hub, target, isConfirmed: options.yes === true }, host);
  });
}

async function connect(host: CommandHost, { kubeconfig }: SharedOptions): Promise<Connections> {
  const { Connections } = await import('./connection.ts');
  return new Connections(host, kubeconfig);
}

async function openOptionalTarget(connections: Connections, context: string | undefined): Promise<Peer | undefined> {
  return context === undefined ? undefined : await connections.openPeer('target cluster', context);
}

/** Parses a label, `key=value`. */
const label: Parser<readonly [string, string]> = (text) => {
  const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  if (validateQualifiedName(key).length > 0 || validateLabelValue(value).length > 0)
    throw new ValueError('a valid key=value label, such as env=prod');
  return [key, value];
};
