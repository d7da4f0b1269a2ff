// Client of the façade for commands. It finds the façade's address and CA, obtains the caller's token, and adds remedies to errors.

import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Cluster } from '../../api/cluster.gen.ts';
import { DefaultNamespace, FacadeConfigMap, SystemAuthorities } from '../../api/names.ts';
import { Clusters, ConfigMaps, type EndpointSlice, EndpointSlices } from '../../api/resources.ts';
import { httpsUrl, type Parser, pathSegment, type ServiceAccountName, serviceAccount } from '../../config/values.ts';
import { FacadeVariable } from '../../config/variables.ts';
import { findLocalAddress } from '../../kube/addresses.ts';
import type { KubeClient } from '../../kube/client.ts';
import { createFixedConfig } from '../../kube/kube-config.ts';
import { forwardPort, type PodPort } from '../../kube/port-forward.ts';
import { type HttpResponse, parseWarnings, toStatusError } from '../../kube/response.ts';
import type { TokenRequest } from '../../kube/reviews.ts';
import { createTransport, type StreamResult, type Transport, type TransportRequest } from '../../kube/transport.ts';
import { TransportError } from '../../kube/transport-error.ts';
import { isBearerToken } from '../../kubernetes/bearer-token.ts';
import { StatusError } from '../../kubernetes/status.ts';
import { omitUndefined } from '../../std/omit-undefined.ts';
import { redactTokens } from '../../std/sensitive.ts';
import { explainFailure } from '../cluster/peer.ts';
import { CommandError, type CommandHost } from '../command.ts';
import { Connections } from '../connection.ts';
import { toVisibleLine } from '../visible-text.ts';
import type { FacadeClientOptions } from './options.ts';

/** A token, and the times of its request. */
export interface IssuedToken {
  readonly request: TokenRequest;
  /** Time immediately before the request was sent, by this machine's clock, in epoch milliseconds. */
  readonly sentAt: number;
  /** Time of the response, by the façade's clock, in epoch milliseconds; `sentAt` if the response has no valid Date header. */
  readonly serverAt: number;
}

/** Client of the façade: `await using facade = await FacadeClient.open(options, host)`. */
export class FacadeClient implements AsyncDisposable {
  readonly #host: CommandHost;
  readonly #hub: KubeClient;
  readonly #access: FacadeAccess;
  readonly #transport: Transport;
  readonly #closing: AsyncDisposableStack;

  private constructor(host: CommandHost, hub: KubeClient, { access, transport, closing }: Opened) {
    this.#host = host;
    this.#hub = hub;
    this.#access = access;
    this.#transport = transport;
    this.#closing = closing;
  }

  /** Finds the façade and obtains the caller's token. Throws a CommandError if either fails, or a StartError for an unusable kubeconfig. */
  static async open(options: FacadeClientOptions, host: CommandHost): Promise<FacadeClient> {
    await using closing = new AsyncDisposableStack();
    const hub = await closing.use(new Connections(host, options.kubeconfig)).open(options.context);
    const access = await findFacade(options, hub, host);
    const token = await obtainCallerToken(options, access, hub, host);
    const { server, authority, pod } = access;
    const cluster = {
      name: 'facade',
      server,
      skipTLSVerify: false,
      ...(authority !== undefined && { caData: Buffer.from(authority).toString('base64') }),
    };
    const tunnel = pod && (() => forwardPort(hub.transport, pod));
    const transport = createTransport(createFixedConfig(cluster, { name: 'caller', token }), omitUndefined({ clock: host.clock, tunnel }));
    closing.defer(() => transport.close());
    return new FacadeClient(host, hub, { access, transport, closing: closing.move() });
  }

  /** Returns a Cluster with the fields that the façade shows to the caller. Throws a CommandError if the request fails. */
  async getCluster(name: string): Promise<Cluster> {
    const { body } = await this.#send({ method: 'GET', path: `/auth/v1/clusters/${encodeURIComponent(name)}` });
    const cluster = parseObject(body) as Cluster | undefined;
    if (cluster?.kind !== Clusters.kind || cluster.metadata?.name !== name || !hasEndpoints(cluster)) throw this.#notAFacade();
    return cluster;
  }

  /** Requests a token for a service account on a cluster, and prints the façade's warnings. Throws a CommandError if the request fails. */
  async requestToken(cluster: string, { namespace, name }: ServiceAccountName, spec: TokenSpec): Promise<IssuedToken> {
    const path = `/${this.#access.path}/${encodeURIComponent(cluster)}/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    const sentAt = this.#host.clock.now();
    const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec });
    const response = await this.#send({ method: 'POST', path, headers: { 'content-type': 'application/json' }, body });
    for (const text of parseWarnings(response.headers)) this.#host.warn(`Warning: ${toVisibleLine(redactTokens(text))}\n`);
    const request: TokenRequest | undefined = parseObject(response.body);
    const { token, expirationTimestamp } = request?.status ?? {};
    if (request === undefined || !token || !isText(token) || !isText(expirationTimestamp)) throw this.#notAFacade();
    if (!isBearerToken(token)) throw this.#invalidToken(cluster);
    const serverAt = Date.parse(String(response.headers['date'] ?? ''));
    return { request, sentAt, serverAt: Number.isNaN(serverAt) ? sentAt : serverAt };
  }

  /**
   * Lists or watches objects through the façade. Returns a stream, or the error response. Throws a CommandError if the façade is
   * unreachable.
   */
  async read(path: string, query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<StreamResult> {
    return await this.#transport
      .stream({ method: 'GET', path, query, headers: { 'user-agent': 'purser-cli' }, signal, idleMs: IDLE_MS })
      .catch((error: unknown) => {
        throw this.#toUnreachable(error);
      });
  }

  /** Lists or watches objects on the hub with the credential of the context. Returns a stream, or the error response. */
  async readHub(path: string, query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<StreamResult> {
    return await this.#hub.transport.stream({ method: 'GET', path, query, signal, idleMs: IDLE_MS });
  }

  /** Returns the IP address that this machine uses to connect to the hub; undefined if there is no route. */
  async findOwnAddress(): Promise<string | undefined> {
    return await findLocalAddress(this.#hub.transport.server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#closing.disposeAsync();
  }

  async #send(request: TransportRequest): Promise<HttpResponse> {
    const response = await this.#transport
      .request({ ...request, headers: { 'user-agent': 'purser-cli', ...request.headers }, signal: this.#host.signal })
      .catch((error: unknown) => {
        throw this.#toUnreachable(error);
      });
    if (response.status >= 200 && response.status < 300) return response;
    throw toCommandError(toStatusError(response), this.#access);
  }

  #toUnreachable(error: unknown): unknown {
    if (!(error instanceof TransportError)) return error;
    const { server, pod, source } = this.#access;
    const cause = redactTokens(error.message.replace(/^(GET|POST) \S+: /, '').replace(/;.*/s, ''));
    if (FAILED_HANDSHAKE.test(error.code))
      return new CommandError(
        `the TLS handshake with the façade ${server} failed: ${cause}. Set --facade-ca to the CA of the façade's certificate, or check the URL from ${source}`,
      );
    const remedy =
      pod === undefined
        ? `Check the URL from ${source}, or set another URL with --facade`
        : 'Set --facade, or check your permission to get and create pods/portforward';
    return new CommandError(`cannot connect to the façade ${server}: ${cause}. ${remedy}`);
  }

  #invalidToken(cluster: string): CommandError {
    const { server, source } = this.#access;
    return new CommandError(
      `the façade ${server} returned a token with characters that are not allowed in bearer tokens. Check the URL from ${source}, and the API server of the cluster ${cluster}`,
    );
  }

  #notAFacade(): CommandError {
    return new CommandError(`${this.#access.server} is not Purser's façade. Check the URL from ${this.#access.source}`);
  }
}

/** The façade that was found, and its connections. */
interface Opened {
  readonly access: FacadeAccess;
  readonly transport: Transport;
  readonly closing: AsyncDisposableStack;
}

/** Spec of a token request. */
export interface TokenSpec {
  readonly audiences: readonly string[];
  readonly expirationSeconds?: number;
}

/** Address and settings of the façade. */
interface FacadeAccess {
  readonly server: string;
  /** Origin of the address, for messages. */
  readonly source: string;
  /** PEM certificates of the CAs; undefined for public CAs. */
  readonly authority: string | undefined;
  /** First path segment of token requests. */
  readonly path: string;
  /** Audiences accepted in callers' tokens; empty if the façade accepts the hub's own audiences. */
  readonly audiences: readonly string[];
  /** Pod to forward a port to; undefined to connect to `server` directly. */
  readonly pod?: PodPort;
}

/** Maximum time without data on a watch, in milliseconds. Servers send bookmarks every minute. */
const IDLE_MS = 180_000;
const DEFAULT_PATH = 'orchestrator';
const SERVICE = 'purser';
/** Requested lifetime of the caller's token with `--service-account`, in seconds. */
const CALLER_SECONDS = 600;
/** Matches the error codes of failed TLS handshakes, including failed verification of the certificate. */
const FAILED_HANDSHAKE = /CERT|^ERR_(TLS|SSL)_|^(EPROTO|INVALID_CA|UNABLE_TO_\w+)$/;

async function findFacade(options: FacadeClientOptions, hub: KubeClient, { env, signal }: CommandHost): Promise<FacadeAccess> {
  const namespace = options.purserNamespace ?? DefaultNamespace;
  const { facade, facadeCa, facadePath, serviceAccount: account } = options;
  // The token of a service account needs one of the façade's audiences, which only the ConfigMap publishes.
  const isComplete = account === undefined && [facade, facadeCa, facadePath].every((option) => option !== undefined);
  const published = isComplete ? {} : await readPublished(hub, namespace, options, signal);
  const source = `the ConfigMap ${namespace}/${FacadeConfigMap.name}`;
  const settings = {
    authority: await readAuthority(options.facadeCa, published[FacadeConfigMap.authority], source),
    path: options.facadePath ?? parsePublished(published, 'path', pathSegment, source) ?? DEFAULT_PATH,
    audiences: published[FacadeConfigMap.audiences]?.split(',') ?? [],
  };
  if (facade !== undefined)
    return { ...settings, server: httpsUrl(facade), source: facade === env[FacadeVariable.url] ? FacadeVariable.url : '--facade' };
  const server = parsePublished(published, 'server', httpsUrl, source);
  if (server !== undefined) return { ...settings, server, source };
  const pod = await findPod(hub, namespace, signal);
  return { ...settings, server: `https://${SERVICE}.${namespace}.svc`, source: `the Service ${namespace}/${SERVICE}`, pod };
}

/** Command options that override keys of the ConfigMap. */
const OPTIONS = { server: '--facade', path: '--facade-path' } as const;

/** Returns the value of a key of the ConfigMap; undefined if there is none. Throws a CommandError for an invalid value. */
function parsePublished(
  published: Readonly<Record<string, string>>,
  key: keyof typeof OPTIONS,
  parse: Parser<string>,
  source: string,
): string | undefined {
  const text = published[FacadeConfigMap[key]];
  if (text === undefined) return undefined;
  try {
    return parse(text);
  } catch (cause) {
    const problem = `the key ${FacadeConfigMap[key]} of ${source} must be ${(cause as Error).message}, not ${JSON.stringify(text)}`;
    throw new CommandError(`${problem}. Correct the ConfigMap, or set ${OPTIONS[key]}`);
  }
}

/**
 * Returns the data of the ConfigMap; empty if it does not exist, or if the request fails but `--facade` is set. Throws a CommandError for
 * other failures.
 */
async function readPublished(
  hub: KubeClient,
  namespace: string,
  { facade, context }: FacadeClientOptions,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  try {
    return (await hub.get(ConfigMaps, { namespace, name: FacadeConfigMap.name }, { signal })).data ?? {};
  } catch (error) {
    if (signal.aborted) throw error;
    if (facade !== undefined || (error instanceof StatusError && error.code === 404)) return {};
    const explanation = explainFailure({ role: 'hub', context, client: hub }, error);
    if (explanation === undefined) throw error;
    throw new CommandError(`cannot read the ConfigMap ${namespace}/${FacadeConfigMap.name}: ${explanation}. You can also set --facade`);
  }
}

async function readAuthority(file: string | undefined, published: string | undefined, source: string): Promise<string | undefined> {
  if (file === SystemAuthorities || (file === undefined && published === undefined)) return undefined;
  try {
    const text = file === undefined ? (published ?? '') : await readFile(file, 'utf8');
    parsePem(text);
    return text;
  } catch (cause) {
    const problem = `cannot use the CA ${file ?? `in ${source}`}: ${(cause as Error).message}`;
    throw new CommandError(`${problem}. Set --facade-ca to a PEM file with the CA of the façade's certificate`);
  }
}

/** Returns the first certificate of a PEM string. Throws if there is none. */
function parsePem(text: string): X509Certificate {
  return new X509Certificate(text);
}

/** Returns a ready pod of the façade's Service. Throws a CommandError if there is none. */
async function findPod(hub: KubeClient, namespace: string, signal: AbortSignal): Promise<PodPort> {
  const labelSelector = `kubernetes.io/service-name=${SERVICE}`;
  const slices = await hub.list(EndpointSlices, { namespace, labelSelector, signal }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    const cause = error instanceof Error ? error.message : String(error);
    throw new CommandError(`Purser publishes no façade URL, and a port-forward is not possible: ${cause}. Set --facade`);
  });
  const found = slices.items.flatMap(findReadyPods)[0];
  if (found !== undefined) return { namespace, ...found };
  throw new CommandError(
    `Purser publishes no façade URL, and the Service ${namespace}/${SERVICE} has no ready pod. Set --facade or --purser-namespace, or check that Purser is running`,
  );
}

function findReadyPods({ endpoints = [], ports = [] }: EndpointSlice): readonly Omit<PodPort, 'namespace'>[] {
  const port = ports?.[0]?.port;
  const ready = (endpoints ?? []).filter(({ conditions, targetRef }) => conditions?.ready !== false && targetRef?.kind === 'Pod');
  return port === undefined ? [] : ready.map(({ targetRef }) => ({ pod: targetRef?.name ?? '', port }));
}

/** Returns the token that authenticates the caller to the façade. Throws a CommandError if there is none. */
async function obtainCallerToken(
  { serviceAccount: account }: FacadeClientOptions,
  { audiences }: FacadeAccess,
  hub: KubeClient,
  { signal }: CommandHost,
): Promise<string> {
  if (account !== undefined) return await requestHubToken(serviceAccount(account), audiences, hub, signal);
  const token = await hub.transport.bearerToken().catch((error: unknown) => {
    throw new CommandError(`${error instanceof Error ? error.message : String(error)}. Check the user of the context`);
  });
  if (token !== undefined) return token.reveal();
  throw new CommandError(
    'the context has no bearer token, and the façade accepts no client certificates. Set --service-account NAMESPACE/NAME to a service account on the hub',
  );
}

async function requestHubToken(
  name: ServiceAccountName,
  audiences: readonly string[],
  hub: KubeClient,
  signal: AbortSignal,
): Promise<string> {
  const account = `${name.namespace}/${name.name}`;
  try {
    // For a request without audiences, the hub issues a token for its own API. The façade accepts such tokens unless its ConfigMap names
    // other audiences.
    const { status } = await hub.createToken(name, { audiences: audiences.slice(0, 1), expirationSeconds: CALLER_SECONDS }, { signal });
    if (status?.token && isBearerToken(status.token)) return status.token;
  } catch (error) {
    if (signal.aborted) throw error;
    const cause = error instanceof Error ? error.message : String(error);
    throw new CommandError(
      `cannot request a token for the service account ${account} on the hub: ${cause}. Check --service-account, and your permission to create serviceaccounts/token`,
    );
  }
  throw new CommandError(`the hub returned no valid token for the service account ${account}. Check the API server of the hub`);
}

/** Returns the error of a request that the façade rejected, with a remedy if REMEDIES has one for the code. */
function toCommandError({ code, message }: StatusError, { server }: FacadeAccess): CommandError {
  const text = redactTokens(message).replace(/\.$/, '');
  const remedy = REMEDIES[code];
  return new CommandError(`the façade ${server} rejected the request: ${text}${remedy === undefined ? '' : `. ${remedy}`}`);
}

const REMEDIES: Readonly<Record<number, string>> = {
  401: 'Log in to the hub again, or set --service-account',
  403: 'Ask an administrator of the hub for the permission',
  404: 'Check the names of the cluster, the namespace and the service account, or set --audience if you may not see the Cluster',
  429: 'Try again later',
  503: 'Try again later, or check the status of the Cluster',
  504: 'Try again later, or check the status of the Cluster',
};

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Returns whether a response has the endpoints of a Cluster; a server other than Purser's façade may return any JSON. */
function hasEndpoints({ spec }: { readonly spec?: Partial<Cluster['spec']> }): boolean {
  const endpoints: unknown = spec?.orchestratorApiEndpoints?.serverEndpoints;
  return Array.isArray(endpoints) && endpoints.every((endpoint) => isText(endpoint?.clientCIDR) && isText(endpoint.serverAddress));
}

function parseObject(body: string): object | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
