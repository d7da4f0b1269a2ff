// Files that lead people to a server. A kubeconfig that still leads to its server is left as it is: kubectl keeps choices of its user there.

import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { parse, stringify } from 'yaml';
import type { DataFolder } from './data-folder.ts';
import type { LocalServer } from './servers.ts';
import { HUB, type Tokens } from './users.ts';

/** A server as people reach it: with the paths of its kubeconfig and of its certificate authority. */
export interface Place {
  readonly name: string;
  readonly url: string;
  readonly tokens: Tokens;
  readonly kubeconfig: string;
  readonly ca: string;
}

/** Writes the kubeconfig and the certificate authority of a server, where they are not there yet. */
export async function writeAccessFiles(folder: DataFolder, server: ReachedServer): Promise<Place> {
  const prefix = server.name === HUB ? '' : `${server.name}.`;
  const names = { kubeconfig: `${prefix}kubeconfig`, ca: `${prefix}ca.crt` };
  const wanted = kubeconfigOf(server);
  const present = await textOf(folder.file(names.kubeconfig));
  if (!isStillGood(present, wanted)) await folder.write(names.kubeconfig, stringify(wanted, { lineWidth: 0 }));
  if ((await textOf(folder.file(names.ca))) !== server.ca) await folder.write(names.ca, server.ca);
  const { name, url, tokens } = server;
  return { name, url, tokens, kubeconfig: folder.file(names.kubeconfig), ca: folder.file(names.ca) };
}

type ReachedServer = Pick<LocalServer, 'name' | 'url' | 'ca' | 'tokens'>;

interface KubeConfigFile {
  readonly apiVersion: 'v1';
  readonly kind: 'Config';
  readonly clusters: readonly Named[];
  readonly users: readonly Named[];
  readonly contexts: readonly Named[];
  readonly 'current-context': string;
}

type Named = Readonly<Record<string, unknown>> & { readonly name: string };

/** The hub has a context for each user. A target has one, of its own name, so that its file can stand beside the hub's in KUBECONFIG. */
export function kubeconfigOf({ name, url, ca, tokens }: ReachedServer): KubeConfigFile {
  const users = Object.entries(tokens).map(([user, token]) => ({ name: name === HUB ? user : `${name}-${user}`, token }));
  const contextOf = (user: string) => (name === HUB ? user : name);
  const [first] = users;
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: users.map(({ name: user, token }) => ({ name: user, user: { token } })),
    contexts: users.map(({ name: user }) => ({ name: contextOf(user), context: { cluster: name, user } })),
    'current-context': contextOf(first?.name ?? ''),
  };
}

/** Whether a file, whatever else it says, names the same server and the same users. */
function isStillGood(text: string, wanted: KubeConfigFile): boolean {
  try {
    const present = parse(text) as Partial<KubeConfigFile> | null;
    const has = (entries: readonly Named[] | undefined, entry: Named) => entries?.some((other) => isDeepStrictEqual(other, entry)) ?? false;
    return wanted.clusters.every((entry) => has(present?.clusters, entry)) && wanted.users.every((entry) => has(present?.users, entry));
  } catch {
    return false;
  }
}

async function textOf(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch(() => '');
}
