// Reads kubeconfigs like kubectl. Uses only the parsing module of client-node, whose KubeConfig class loads all generated models (0.4 s,
// 85 MB) and ignores `tokenFile`.

import { readFile } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, resolve } from 'node:path';
import type { Cluster, Context, User } from '@kubernetes/client-node';
import { newClusters, newContexts, newUsers } from '@kubernetes/client-node/dist/config_types.js';
import { parse } from 'yaml';
import { findSimilar } from '../std/edit-distance.ts';
import { omitUndefined } from '../std/omit-undefined.ts';

/** An API server and a user; client-node's `KubeConfig` implements this interface. */
export interface KubeConfigSource {
  getCurrentCluster(): Cluster | null;
  getCurrentUser(): User | null;
}

/**
 * Reads the existing files of a `KUBECONFIG` value; the first of several entries with the same name applies. Selects the current context
 * by default. Throws if no file exists or an entry is not found.
 */
export async function loadKubeConfig(paths: string, context?: string): Promise<KubeConfigSource> {
  return selectContext(await readParts(paths), context);
}

/** Contexts of a kubeconfig. */
export interface Contexts {
  /** Name of the current context; undefined if there is none. */
  readonly current: string | undefined;
  readonly contexts: readonly Context[];
}

/** Reads the contexts from all files in a `KUBECONFIG` value; the first of several contexts with the same name applies. */
export async function readContexts(paths: string): Promise<Contexts> {
  const parts = await readParts(paths);
  const byName = new Map(
    parts
      .flatMap(({ contexts }) => contexts)
      .toReversed()
      .map((context) => [context.name, context]),
  );
  return { current: findCurrent(parts), contexts: [...byName.values()].toReversed() };
}

/** Returns the API server and the service account of the pod. Throws without the environment variables that Kubernetes sets in pods. */
export function createInClusterConfig(
  env: Readonly<Record<string, string | undefined>>,
  folder = SERVICE_ACCOUNT_FOLDER,
): KubeConfigSource {
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'];
  if (!host || !port) throw new Error('KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set');
  const authority = host.includes(':') ? `[${host}]` : host;
  return createFixedConfig(
    { name: 'in-cluster', server: `https://${authority}:${port}`, caFile: resolve(folder, 'ca.crt'), skipTLSVerify: false },
    withTokenFile({ name: 'service-account' }, resolve(folder, 'token')),
  );
}

/** Settings that another program needs to connect to the API server of a context. */
export interface ContextServer {
  readonly server: string;
  /** PEM of the server's certificate authorities; undefined for public authorities. */
  readonly ca?: string;
  /** URL of the proxy; undefined for a direct connection. */
  readonly proxy?: string;
  /** Name that the server's certificate must contain; undefined for the host of `server`. */
  readonly tlsServerName?: string;
  /** False if clients do not verify the certificate. */
  readonly isVerified: boolean;
}

/** Reads the API server of a configuration. Throws if there is none, or if the file with its certificate authorities is not readable. */
export async function readServer(config: KubeConfigSource): Promise<ContextServer> {
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error('the kubeconfig has no current cluster');
  const { server, caData, caFile, proxyUrl, tlsServerName, skipTLSVerify } = cluster;
  const ca = caData ? Buffer.from(caData, 'base64').toString('utf8') : caFile && (await readFile(caFile, 'utf8'));
  return {
    server,
    isVerified: !skipTLSVerify,
    ...omitUndefined({ ca: ca || undefined, proxy: proxyUrl || undefined, tlsServerName: tlsServerName || undefined }),
  };
}

/** Returns a source with a given API server and user. */
export function createFixedConfig(cluster: Cluster, user: User): KubeConfigSource {
  return { getCurrentCluster: () => cluster, getCurrentUser: () => user };
}

/** Returns the paths of the files that contain the user's credential. */
export function credentialFilesOf(source: KubeConfigSource): readonly string[] {
  const user = source.getCurrentUser();
  const tokenFile: unknown = user?.authProvider?.config?.tokenFile;
  return [user?.certFile, user?.keyFile, tokenFile].filter((file) => typeof file === 'string' && file !== '') as string[];
}

const SERVICE_ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Content of one file of a kubeconfig. */
interface KubeConfigFile {
  readonly clusters: readonly Cluster[];
  readonly users: readonly User[];
  readonly contexts: readonly Context[];
  readonly currentContext: string;
}

async function readParts(paths: string): Promise<readonly KubeConfigFile[]> {
  const files = paths.split(delimiter).filter((path) => path !== '');
  const parts = await Promise.allSettled(files.map(async (path) => parsePart(await readFile(path, 'utf8'), dirname(path))));
  const isMissing = (part: PromiseSettledResult<KubeConfigFile>) => part.status === 'rejected' && hasCode(part.reason, 'ENOENT');
  // Ignores missing files, as kubectl does, unless all are missing.
  const found = parts.filter((part) => !isMissing(part));
  return (found.length === 0 ? parts : found).map((part) => {
    if (part.status === 'rejected') throw part.reason;
    return part.value;
  });
}

function hasCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === code;
}

function findCurrent(parts: readonly KubeConfigFile[]): string | undefined {
  return parts.find((part) => part.currentContext !== '')?.currentContext;
}

function parsePart(text: string, folder: string): KubeConfigFile {
  const config = toRecord(parse(text));
  const resolvePath = (path: string | undefined) => (path && !isAbsolute(path) ? resolve(folder, path) : path);
  const clusters = newClusters(config['clusters']).map((cluster) => withFiles(cluster, { caFile: resolvePath(cluster.caFile) }));
  const users = toRecords(config['users']).map((entry) => toUser(entry, resolvePath));
  const currentContext = config['current-context'];
  return {
    clusters,
    users,
    contexts: newContexts(config['contexts']),
    currentContext: typeof currentContext === 'string' ? currentContext : '',
  };
}

function toUser(entry: Readonly<Record<string, unknown>>, resolvePath: (path: string | undefined) => string | undefined): User {
  const raw = toRecord(entry['user']);
  const ignored = ['as-uid', 'as-groups', 'as-user-extra'].filter((field) => raw[field] !== undefined);
  if (ignored.length > 0) throw new Error(`user ${String(entry['name'])}: impersonation with ${ignored.join(', ')} is not supported`);
  // `token-file` is not a kubeconfig field, but client-node would read such a file immediately and only once.
  const { 'token-file': _, ...known } = raw;
  const [user] = newUsers([{ ...entry, user: known }]);
  if (user === undefined) throw new Error('a user of the kubeconfig is invalid');
  const located = withFiles(user, {
    certFile: resolvePath(user.certFile),
    keyFile: resolvePath(user.keyFile),
    exec: resolveExec(user.exec, resolvePath),
  });
  const tokenFile = raw['tokenFile'];
  return typeof tokenFile === 'string' && tokenFile !== '' ? withTokenFile(located, resolvePath(tokenFile) ?? tokenFile) : located;
}

/** Resolves a command with a slash from the folder of the kubeconfig. Does not change other commands, which are found through PATH. */
function resolveExec(exec: unknown, resolvePath: (path: string | undefined) => string | undefined): unknown {
  const { command } = toRecord(exec);
  return typeof command === 'string' && command.includes('/') ? { ...toRecord(exec), command: resolvePath(command) } : exec;
}

/** Replaces the token of a user with a token file, in client-node's format. */
function withTokenFile(user: User, tokenFile: string): User {
  const { token: _, ...rest } = user;
  return { ...rest, authProvider: { name: 'tokenFile', config: { tokenFile } } };
}

function selectContext(parts: readonly KubeConfigFile[], name = findCurrent(parts)): KubeConfigSource {
  if (name === undefined) throw new Error('the kubeconfig has no current-context');
  const context = findEntry(parts, 'contexts', name);
  const user = context.user ? findEntry(parts, 'users', context.user) : { name: '' };
  return createFixedConfig(findEntry(parts, 'clusters', context.cluster), user);
}

function findEntry<K extends 'clusters' | 'users' | 'contexts'>(
  parts: readonly KubeConfigFile[],
  field: K,
  name: string,
): KubeConfigFile[K][number] {
  const entries = parts.flatMap((part): readonly KubeConfigFile[K][number][] => part[field]);
  const found = entries.find((entry) => entry.name === name);
  if (found !== undefined) return found;
  const similar = findSimilar(name, [...new Set(entries.map((entry) => entry.name))]);
  throw new Error(`the kubeconfig has no ${field.slice(0, -1)} "${name}"${similar === undefined ? '' : `; did you mean "${similar}"?`}`);
}

function withFiles<T>(entry: T, files: { readonly [Field in keyof T]?: T[Field] | undefined }): T {
  return { ...entry, ...files };
}

function toRecords(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.map(toRecord) : [];
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
