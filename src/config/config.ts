// Settings of a run, parsed and validated once. options.ts declares the options.

import { type OPTIONS, type OptionName, optionOf } from './options.ts';
import { StartError } from './start-error.ts';
import { ValueError } from './values.ts';
import { type Env, listUnknownVariables, type OptionTexts, readVariables } from './variables.ts';

/** Validated, complete settings of one run. */
export interface Config {
  /** Value of KUBECONFIG; undefined if it is unset or empty. */
  readonly kubeConfig: string | undefined;
  readonly dataDir: string;
  readonly apiPort: number;
  readonly facadePort: number;
  /** First path segment of token requests. */
  readonly facadePath: string;
  /** URL of the façade for callers outside the hub; undefined if none is configured. */
  readonly facadeUrl: string | undefined;
  /** Audiences accepted in callers' tokens; empty for the hub's own audiences. */
  readonly facadeAudiences: readonly string[];
  /** Audiences for token requests that name none; if empty, the façade rejects such requests. */
  readonly facadeDefaultAudiences: readonly string[];
  /** Prefixes of Cluster annotations that callers can read. */
  readonly facadeAnnotations: readonly string[];
  /** Maximum number of requests per second for each caller; 0 for no limit. */
  readonly facadeRate: number;
  /** True to serve HTTP/2 in addition to HTTP/1.1. */
  readonly facadeHttp2: boolean;
  /** True to serve the web UI at /ui/ of the façade. */
  readonly facadeUi: boolean;
  readonly facadeTlsCert: string | undefined;
  readonly facadeTlsKey: string | undefined;
  /** Name of the Secret with the façade's certificate and key; undefined if there is none. */
  readonly facadeTlsSecret: string | undefined;
  readonly metricsPort: number;
  /** Authorization for /metrics; undefined for the default of the command. */
  readonly metricsAuth: Value<'metrics-auth'>;
  /** True to serve metrics and health checks over TLS with the façade's certificate. */
  readonly metricsTls: boolean;
  /** Address to listen on; undefined for the default of the command. */
  readonly bindAddress: string | undefined;
  /** Number of target clusters of the local run. */
  readonly clusters: number;
  readonly samples: boolean;
  readonly readyFile: string | undefined;
  readonly logLevel: Value<'log-level'>;
  /** Namespace that Purser runs in. */
  readonly namespace: string;
  /** Namespaces to watch for ManagedTokens and ManagedTokenSets; undefined for all. */
  readonly namespaces: readonly string[] | undefined;
  readonly installCrds: boolean;
  /** Components to run in this process. */
  readonly components: Value<'components'>;
  /** Namespaces to read cluster credentials from. */
  readonly credentialNamespaces: readonly string[];
  /** Namespaces on target clusters whose service accounts an RBAC rule with resourceNames covers only if a name includes the namespace. */
  readonly protectedNamespaces: readonly string[];
  /** Maximum lifetime of a token, in seconds; longer requested lifetimes are shortened. */
  readonly maxExpirationSeconds: number;
  /** Audiences that tokens can be issued for; undefined for all. */
  readonly allowedAudiences: readonly string[] | undefined;
  /** URL of the proxy to target clusters whose credential names no proxy; undefined without a proxy. */
  readonly httpsProxy: string | undefined;
  /** Hosts to reach without the proxy, as in NO_PROXY. */
  readonly noProxy: string | undefined;
  /**
   * Minimum interval between scheduled TokenReviews of a ManagedToken's token, in milliseconds; 0 disables these TokenReviews and those of
   * tokens that Purser samples for each cluster.
   */
  readonly verifyIntervalMs: number;
  /** Interval between probes of each cluster's /readyz, in milliseconds. */
  readonly probeIntervalMs: number;
  /** Interval between checks of each cluster's version and of Purser's permissions on the cluster, in milliseconds. */
  readonly accessIntervalMs: number;
  /** Name of the Cluster that represents the hub; undefined if there is none. */
  readonly hubCluster: string | undefined;
  /** True to allow Clusters with loopback addresses. */
  readonly allowLoopback: boolean;
  /** Flags and environment variables that are set but apply to the local run only. */
  readonly localOnly: readonly string[];
  /** Environment variables with Purser's prefix that Purser does not know, each with the most similar known variable, if there is one. */
  readonly unknownVariables: readonly string[];
}

/**
 * Parses the options of the command line and of the environment; the command line takes precedence. Throws one StartError that lists all
 * problems. If `isLocal` is false, does not check whether `--api-port`, an option of the local run, conflicts with other ports.
 */
export function parseConfig(given: OptionTexts, env: Env, { isLocal = true } = {}): Config {
  const options: OptionTexts = new Map([...readVariables(env), ...given]);
  const { read, problems } = createReader(options);
  const namespace = read('namespace');
  const config: Config = {
    kubeConfig: env['KUBECONFIG'] || undefined,
    dataDir: read('data-dir'),
    apiPort: read('api-port'),
    facadePort: read('facade-port'),
    facadePath: read('facade-path'),
    facadeUrl: read('facade-url'),
    facadeAudiences: read('facade-audiences') ?? [],
    facadeDefaultAudiences: read('facade-default-audiences') ?? [],
    facadeAnnotations: read('facade-annotations') ?? [],
    facadeRate: read('facade-rate'),
    facadeHttp2: !read('no-facade-http2'),
    facadeUi: !read('no-facade-ui'),
    facadeTlsCert: read('facade-tls-cert'),
    facadeTlsKey: read('facade-tls-key'),
    facadeTlsSecret: read('facade-tls-secret'),
    metricsPort: read('metrics-port'),
    metricsAuth: read('metrics-auth'),
    metricsTls: read('metrics-tls'),
    bindAddress: read('bind-address'),
    clusters: read('clusters'),
    samples: !read('no-samples'),
    readyFile: read('ready-file'),
    logLevel: read('log-level'),
    namespace,
    namespaces: read('namespaces'),
    installCrds: read('install-crds'),
    components: read('components'),
    credentialNamespaces: read('credential-namespaces') ?? [namespace],
    protectedNamespaces: read('protected-namespaces'),
    maxExpirationSeconds: read('max-token-lifetime'),
    allowedAudiences: read('allowed-audiences'),
    ...readProxy(env),
    verifyIntervalMs: read('verify-interval'),
    probeIntervalMs: read('probe-interval'),
    accessIntervalMs: read('access-interval'),
    hubCluster: read('hub-cluster'),
    allowLoopback: read('allow-loopback'),
    localOnly: [...options].filter(([name]) => optionOf(name)?.localOnly).map(([, { source }]) => source),
    unknownVariables: listUnknownVariables(env),
  };
  const all = [...problems, ...validatePorts(config, isLocal), ...validateCertificate(config), ...validateProxy(config)];
  if (all.length > 0) throw new StartError(all.join('. '));
  return Object.freeze(config);
}

/** Reads the proxy variables; like curl, assumes http:// for a proxy without a scheme. */
function readProxy(env: Env): Pick<Config, 'httpsProxy' | 'noProxy'> {
  const proxy = env['HTTPS_PROXY'] || env['https_proxy'] || undefined;
  const httpsProxy = proxy === undefined || proxy.includes('://') ? proxy : `http://${proxy}`;
  return { httpsProxy, noProxy: env['NO_PROXY'] || env['no_proxy'] || undefined };
}

/** Returns the problem of an invalid proxy URL. The message omits the URL, because the URL may contain a password. */
function validateProxy({ httpsProxy }: Config): readonly string[] {
  const isValid = httpsProxy === undefined || (/^https?:/i.test(httpsProxy) && URL.canParse(httpsProxy));
  return isValid ? [] : ['HTTPS_PROXY (or https_proxy) must be an http or https URL'];
}

type Table = typeof OPTIONS;

/** Parsed value of an option; undefined only for an option that takes a value and has no default. */
type Value<N extends OptionName> =
  | ReturnType<Table[N]['parse']>
  | (Table[N] extends { readonly default: string } ? never : Table[N] extends { readonly value: string } ? undefined : never);

/** Returns a function that parses one option, and the list in which this function collects problems for a single error. */
function createReader(options: OptionTexts): {
  readonly read: <N extends OptionName>(name: N) => Value<N>;
  readonly problems: readonly string[];
} {
  const problems: string[] = [];
  const parse = (name: OptionName): unknown => {
    const option = optionOf(name);
    const { text, source } = options.get(name) ?? { text: option?.value === undefined ? 'false' : option.default, source: `--${name}` };
    try {
      return text === undefined ? undefined : option?.parse(text);
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      problems.push(`${source} must be ${error.message}, not ${JSON.stringify(text)}`);
    }
  };
  return { read: <N extends OptionName>(name: N) => parse(name) as Value<N>, problems };
}

function validateCertificate({ facadeTlsCert, facadeTlsKey, facadeTlsSecret }: Config): readonly string[] {
  if ((facadeTlsCert === undefined) !== (facadeTlsKey === undefined))
    return ['--facade-tls-cert and --facade-tls-key must be set together. Set both, or omit both'];
  const hasFilesAndSecret = facadeTlsCert !== undefined && facadeTlsSecret !== undefined;
  return hasFilesAndSecret
    ? ['--facade-tls-secret conflicts with --facade-tls-cert and --facade-tls-key. Set either the Secret or the files']
    : [];
}

function validatePorts({ apiPort, facadePort, metricsPort }: Config, isLocal: boolean): readonly string[] {
  const ports = [
    ...(isLocal ? ([['--api-port', apiPort]] as const) : []),
    ['--facade-port', facadePort],
    ['--metrics-port', metricsPort],
  ] as const;
  return ports.flatMap(([name, port], index) => {
    const other = ports.slice(0, index).find(([, taken]) => taken === port && port > 0);
    return other === undefined ? [] : [`${other[0]} and ${name} are both ${port}. Choose different ports`];
  });
}
