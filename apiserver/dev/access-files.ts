// Access files of a server: kubeconfig and certificate authority. A kubeconfig that still works is not overwritten: kubectl keeps the user's choices in it.

import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { parse, stringify } from 'yaml';
import type { DataFolder } from './data-folder.ts';
import { HUB, type LocalServer, type Tokens } from './servers.ts';

/** A server with the paths of its kubeconfig and of its certificate authority. */
export interface Place {
  readonly name: string;
  readonly url: string;
  readonly tokens: Tokens;
  readonly kubeconfig: string;
  readonly ca: string;
}

/** Writes the kubeconfig and the certificate authority of a server if they are missing or outdated. */
export async function writeAccessFiles(folder: DataFolder, server: ReachedServer): Promise<Place> {
  const prefix = server.name === HUB ? '' : `${server.name}.`;
  const names = { kubeconfig: `${prefix}kubeconfig`, ca: `${prefix}ca.crt` };
  const wanted = kubeconfigOf(server);
  const present = await textOf(folder.file(names.kubeconfig));
  if (!isCurrent(present, wanted)) await folder.write(names.kubeconfig, stringify(wanted, { lineWidth: 0 }));
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

/** Returns a kubeconfig. The hub has one context per user; a target has one with its name, so that KUBECONFIG can list both files. */
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

/** Reports if a kubeconfig contains the wanted clusters and users, among others. */
function isCurrent(text: string, wanted: KubeConfigFile): boolean {
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
