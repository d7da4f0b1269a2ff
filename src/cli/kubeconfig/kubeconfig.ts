// `purser kubeconfig`: writes a kubeconfig whose context obtains its tokens with `purser credential`.

import { access, constants } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import type { Cluster } from '../../api/cluster.gen.ts';
import { SystemAuthorities } from '../../api/names.ts';
import { StartError } from '../../config/start-error.ts';
import { serviceAccount } from '../../config/values.ts';
import { omitUndefined } from '../../std/omit-undefined.ts';
import { packageRoot } from '../../std/package-root.ts';
import { orderServers } from '../../targets/endpoints.ts';
import { CommandError, type CommandHost } from '../command.ts';
import { Connections } from '../connection.ts';
import { FacadeClient } from '../facade/client.ts';
import { formatDocument } from '../output.ts';
import { formatContextOption } from '../quote-shell.ts';
import type { TokenOptions } from '../token/options.ts';
import { requireAudiences, type WantedToken } from '../token/token.ts';
import { type Kubeconfig, mergeIntoFile } from './merge.ts';

/** Values of the options of `purser kubeconfig`. */
export interface KubeconfigOptions extends TokenOptions {
  /** Name of the context. */
  readonly name?: string;
  readonly namespace?: string;
  /** URL of the cluster's API server. */
  readonly server?: string;
  readonly merge?: true;
}

/** A kubeconfig to write. */
export type WantedKubeconfig = WantedToken & KubeconfigOptions;

/** Prints a kubeconfig, or merges it into the kubeconfig of the user. */
export async function writeKubeconfig(wanted: WantedKubeconfig, host: CommandHost): Promise<void> {
  await using connections = new Connections(host, wanted.kubeconfig);
  const { current } = await connections.readContexts();
  const hubContext = wanted.context ?? current;
  const name = wanted.name ?? wanted.cluster;
  if (name === hubContext) throw new StartError(`${name} is the context of the hub. Set --name to another name for the new context`);
  await using facade = await FacadeClient.open(wanted, host);
  const cluster = await facade.getCluster(wanted.cluster);
  const server = selectServer(cluster, wanted.server, await facade.findOwnAddress());
  const audience = wanted.audience ?? requireAudiences(cluster.status?.apiAudiences, wanted.cluster);
  const caller = {
    ...wanted,
    audience,
    kubeconfig: connections.files.join(delimiter),
    ...omitUndefined<{ context?: string }>({ context: hubContext }),
  };
  const { caBundle } = cluster.spec.orchestratorApiEndpoints;
  const kubeconfig = toKubeconfig(caller, { name, server, caBundle, command: await findPluginCommand(host) });
  if (wanted.merge !== true) return host.print(formatDocument(kubeconfig, 'yaml'));
  const file = await mergeIntoFile(connections.files, kubeconfig);
  const choice = formatContextOption({ context: name, kubeconfig: wanted.kubeconfig === undefined ? undefined : file });
  host.print(`Context ${name} written to ${file}. To use the context, run: kubectl ${choice}auth whoami\n`);
}

/** Address, CA and name of a context, and the command of its plugin. */
interface ContextDetails {
  readonly name: string;
  readonly command: string;
  readonly server: string;
  /** Base64-encoded PEM; undefined for public CAs. */
  readonly caBundle: string | undefined;
}

/** Returns the kubeconfig of a context that obtains its tokens with `purser credential`. */
export function toKubeconfig(wanted: WantedKubeconfig, { name, command, server, caBundle }: ContextDetails): Kubeconfig {
  const entry = `purser-${name}`;
  const namespace = wanted.namespace ?? serviceAccount(wanted.account).namespace;
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command,
    args: toCredentialArguments(wanted),
    interactiveMode: 'Never',
    provideClusterInfo: false,
    installHint: INSTALL_HINT,
  };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: entry, cluster: { server, ...(caBundle && { 'certificate-authority-data': caBundle.replace(/\s/g, '') }) } }],
    users: [{ name: entry, user: { exec } }],
    contexts: [{ name, context: { cluster: entry, user: entry, namespace } }],
    'current-context': name,
  };
}

/**
 * Returns the command of the plugin: `purser` if it is on the PATH outside of npm's folders, otherwise the path of this installation's
 * launcher.
 */
async function findPluginCommand({ env }: CommandHost): Promise<string> {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '' && !folder.endsWith(NPM_FOLDER));
  for (const folder of folders) if (await isExecutable(join(folder, COMMAND))) return COMMAND;
  return join(packageRoot, 'bin/purser.cjs');
}

async function isExecutable(path: string): Promise<boolean> {
  return await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

const COMMAND = 'purser';
/** Suffix of the folders that npm and npx add to the PATH of their child processes. The PATH of kubectl does not contain them. */
const NPM_FOLDER = join('node_modules', '.bin');
const INSTALL_HINT = `The command purser was not found.

To install it, see docs/cli.md of Purser, or run purser kubeconfig again with the current installation of purser.`;

/**
 * Returns the arguments of `purser credential`, in the form that the launcher parses without loading the command line. They name the
 * kubeconfig and the context of the hub, because the client may use another kubeconfig.
 */
function toCredentialArguments(wanted: WantedKubeconfig): readonly string[] {
  const { cluster, account, audience = [], duration, kubeconfig, context, serviceAccount: caller } = wanted;
  const { facade, facadeCa, facadePath, purserNamespace } = wanted;
  const options = {
    duration,
    kubeconfig,
    context,
    'service-account': caller,
    facade,
    'facade-ca': facadeCa === undefined || facadeCa === SystemAuthorities ? facadeCa : resolve(facadeCa),
    'facade-path': facadePath,
    'purser-namespace': purserNamespace,
  };
  const given = Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : `--${name}=${value}`));
  return ['credential', cluster, account, ...audience.map((each) => `--audience=${each}`), ...given];
}

/**
 * Returns the given address or, if none is given, the best registered address for a client at `ownAddress`. Throws a StartError if the
 * given address is not registered, and a CommandError if no registered address is usable.
 */
function selectServer({ metadata, spec }: Cluster, given: string | undefined, ownAddress: string | undefined): string {
  const { serverEndpoints } = spec.orchestratorApiEndpoints;
  const servers = orderServers(serverEndpoints, ownAddress);
  const selected = given === undefined ? servers[0] : servers.find((server) => server === given);
  if (selected !== undefined) return selected;
  if (servers.length === 0) throw new CommandError(`the cluster ${metadata.name} has no usable address. Correct the Cluster on the hub`);
  throw new StartError(`${given} is not an address of the cluster ${metadata.name}. Set --server to one of ${servers.join(', ')}`);
}
