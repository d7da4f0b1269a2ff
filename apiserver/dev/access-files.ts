// Access files of a local server: kubeconfig and certificate authority.
// A kubeconfig that still works is not overwritten: kubectl stores the user's current context in it.

import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { parse, stringify } from 'yaml';
import type { DataFolder } from './data-folder.ts';
import { HUB, type LocalServer, type Tokens } from './servers.ts';

/** A local server with the paths of its kubeconfig and certificate authority. */
export interface AccessibleServer {
  readonly name: string;
  readonly url: string;
  readonly tokens: Tokens;
  readonly kubeconfig: string;
  readonly ca: string;
}

/** Writes the access files of a server if they are missing or outdated. */
export async function writeAccessFiles(folder: DataFolder, server: RunningServer): Promise<AccessibleServer> {
  const prefix = server.name === HUB ? '' : `${server.name}.`;
  const names = { kubeconfig: `${prefix}kubeconfig`, ca: `${prefix}ca.crt` };
  const expected = createKubeconfig(server);
  const present = await readText(folder.pathOf(names.kubeconfig));
  if (!isCurrent(present, expected)) await folder.write(names.kubeconfig, stringify(expected, { lineWidth: 0 }));
  if ((await readText(folder.pathOf(names.ca))) !== server.ca) await folder.write(names.ca, server.ca);
  const { name, url, tokens } = server;
  return { name, url, tokens, kubeconfig: folder.pathOf(names.kubeconfig), ca: folder.pathOf(names.ca) };
}

type RunningServer = Pick<LocalServer, 'name' | 'url' | 'ca' | 'tokens'>;

interface KubeConfigFile {
  readonly apiVersion: 'v1';
  readonly kind: 'Config';
  readonly clusters: readonly Named[];
  readonly users: readonly Named[];
  readonly contexts: readonly Named[];
  readonly 'current-context': string;
}

type Named = Readonly<Record<string, unknown>> & { readonly name: string };

/**
 * Creates a kubeconfig. The hub has one context per user; a target has one context, named after the target. No two servers have a context
 * with the same name, so that KUBECONFIG can list the files of several servers.
 */
export function createKubeconfig({ name, url, ca, tokens }: RunningServer): KubeConfigFile {
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

/** Returns true if a kubeconfig contains the expected clusters and users. It may contain others. */
function isCurrent(text: string, expected: KubeConfigFile): boolean {
  try {
    const present = parse(text) as Partial<KubeConfigFile> | null;
    const has = (entries: readonly Named[] | undefined, entry: Named) => entries?.some((other) => isDeepStrictEqual(other, entry)) ?? false;
    return expected.clusters.every((entry) => has(present?.clusters, entry)) && expected.users.every((entry) => has(present?.users, entry));
  } catch {
    return false;
  }
}

async function readText(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch(() => '');
}
