// Options of `run` and `dev`, declared once: `--help`, environment variables, validation and the table in docs/operating.md use this
// declaration.

import {
  anyText,
  audiences,
  duration,
  durationOrZero,
  flag,
  httpsUrl,
  integer,
  list,
  namespace,
  namespaces,
  objectName,
  oneOf,
  type Parser,
  pathSegment,
  port,
  someOf,
  tokenLifetime,
} from './values.ts';

/** An option that can be set on the command line or by an environment variable. */
export interface Option {
  /** Placeholder of the value in `--help`; undefined for a flag. */
  readonly value?: string;
  /** Text to parse if the option is not set; undefined if the option has no default, or is a flag. The default of a flag is false. */
  readonly default?: string;
  /** Description of the default if `default` is undefined; undefined for a flag. */
  readonly defaultDescription?: string;
  readonly parse: Parser<unknown>;
  readonly description: string;
  /** True for an option that only the local run uses. */
  readonly localOnly?: true;
}

/** The options in the order of `--help`. */
export const OPTIONS = {
  'data-dir': {
    value: 'DIR',
    default: '.purser',
    parse: anyText,
    description: 'directory for all data of the local run, reused on restart',
    localOnly: true,
  },
  'api-port': {
    value: 'PORT',
    default: '7443',
    parse: port,
    description: "port of the hub's API server (0 selects a free port)",
    localOnly: true,
  },
  clusters: {
    value: 'N',
    default: '1',
    parse: integer(100),
    description: 'number of target clusters to run in addition to the hub, at most 100',
    localOnly: true,
  },
  'no-samples': { parse: flag, description: 'do not create sample objects, such as namespaces and ManagedTokens', localOnly: true },
  'facade-port': { value: 'PORT', default: '7444', parse: port, description: 'HTTPS port of the façade (0 selects a free port)' },
  'facade-path': {
    value: 'NAME',
    default: 'orchestrator',
    parse: pathSegment,
    description: 'first path segment of token requests to the façade',
  },
  'facade-url': {
    value: 'URL',
    defaultDescription: 'none',
    parse: httpsUrl,
    description:
      'URL of the façade for callers outside the hub; with --facade-tls-secret, published in the ConfigMap purser-facade-ca, so that commands such as purser token find the façade',
  },
  'facade-audiences': {
    value: 'AUD,AUD',
    defaultDescription: "the hub's own audiences",
    parse: audiences,
    description: "audiences accepted in callers' tokens; a token needs one of them",
  },
  'facade-default-audiences': {
    value: 'AUD,AUD',
    defaultDescription: 'none; requests must name an audience',
    parse: audiences,
    description: 'audiences of tokens issued for façade requests that name no audience',
  },
  'facade-annotations': {
    value: 'PREFIX,PREFIX',
    defaultDescription: 'none',
    parse: list,
    description: 'key prefixes of Cluster annotations; the façade returns only annotations with one of these prefixes',
  },
  'facade-rate': {
    value: 'N',
    default: '100',
    parse: integer(1_000_000),
    description:
      'requests per second that each replica of the façade allows for each caller, with bursts of twice as many (0 disables the limit); the service accounts of a namespace count as one caller',
  },
  'no-facade-http2': { parse: flag, description: 'serve the façade over HTTP/1.1 only; watches then use more memory' },
  'no-facade-ui': { parse: flag, description: 'do not serve the web UI at /ui/ of the façade' },
  'facade-tls-cert': {
    value: 'FILE',
    defaultDescription: 'generated',
    parse: anyText,
    description: "PEM file with the façade's certificate chain, reloaded on change; needs --facade-tls-key",
  },
  'facade-tls-key': {
    value: 'FILE',
    defaultDescription: 'generated',
    parse: anyText,
    description: "PEM file with the private key of the façade's certificate, reloaded on change; needs --facade-tls-cert",
  },
  'facade-tls-secret': {
    value: 'NAME',
    defaultDescription: 'none',
    parse: objectName,
    description:
      "Secret in Purser's namespace with the façade's certificate and key for all replicas; a process with the controller component creates a missing Secret, and renews certificates that Purser issued",
  },
  'metrics-port': {
    value: 'PORT',
    default: '7445',
    parse: port,
    description: 'port of /metrics, /livez and /readyz (0 selects a free port)',
  },
  'metrics-auth': {
    value: 'MODE',
    defaultDescription: 'none with purser dev, token with purser run',
    parse: oneOf(['token', 'none']),
    description:
      'authorization for /metrics: token (clients need a token with permission on the hub to get /metrics) or none (all clients are allowed)',
  },
  'metrics-tls': { parse: flag, description: "serve metrics and health checks over TLS with the façade's certificate" },
  'bind-address': {
    value: 'ADDRESS',
    defaultDescription: '127.0.0.1 with purser dev, all addresses with purser run',
    parse: anyText,
    description: 'IP address or host name to listen on, for the façade, metrics and health checks',
  },
  'ready-file': {
    value: 'FILE',
    defaultDescription: 'none',
    parse: anyText,
    description:
      "JSON file with Purser's URLs, the path of the kubeconfig and, in a local run, paths of CA files and users' tokens; written when Purser is ready, removed when Purser stops",
  },
  namespace: {
    value: 'NS',
    default: 'purser-system',
    parse: namespace,
    description: "Purser's namespace, with Purser's own objects, such as the Lease",
  },
  namespaces: {
    value: 'NS,NS',
    defaultDescription: 'all',
    parse: namespaces,
    description: 'namespaces to watch for ManagedTokens and ManagedTokenSets',
  },
  components: {
    value: 'PART,PART',
    default: 'controller,facade',
    parse: someOf(['controller', 'facade']),
    description: 'components to run in this process: controller, facade, or controller,facade; the local run always runs both',
  },
  'install-crds': {
    parse: flag,
    description: "install or update Purser's CustomResourceDefinitions on the hub at startup; ignored without the controller component",
  },
  'credential-namespaces': {
    value: 'NS,NS',
    defaultDescription: 'the value of --namespace',
    parse: namespaces,
    description: 'namespaces of the Secrets with cluster credentials',
  },
  'protected-namespaces': {
    value: 'NS,NS',
    default: 'kube-system,kube-public,kube-node-lease',
    parse: namespaces,
    description:
      'protected namespaces on target clusters: an RBAC rule for clusters/token covers their service accounts only if a resource name includes the namespace, or if the rule has no resourceNames',
  },
  'max-token-lifetime': {
    value: 'DURATION',
    default: '24h',
    parse: tokenLifetime,
    description: 'maximum lifetime of issued tokens, at least 10m; longer requested lifetimes are shortened',
  },
  'allowed-audiences': {
    value: 'AUD,AUD',
    defaultDescription: 'all',
    parse: audiences,
    description: 'audiences that tokens can be issued for',
  },
  'verify-interval': {
    value: 'DURATION',
    default: '15m',
    parse: durationOrZero,
    description: "minimum interval between scheduled TokenReviews of a ManagedToken's token (0 disables verification of tokens)",
  },
  'probe-interval': { value: 'DURATION', default: '10s', parse: duration, description: "how often each cluster's /readyz is probed" },
  'access-interval': {
    value: 'DURATION',
    default: '1m',
    parse: duration,
    description: "how often each cluster's version and Purser's permissions on the cluster are checked",
  },
  'hub-cluster': {
    value: 'NAME',
    defaultDescription: 'none',
    parse: objectName,
    description: 'name of the Cluster object that represents the hub',
  },
  'allow-loopback': { parse: flag, description: 'allow Clusters with loopback addresses; the local run always allows loopback addresses' },
  'log-level': {
    value: 'LEVEL',
    defaultDescription: 'warn with purser dev, info with purser run',
    parse: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    description:
      'lowest level to log: trace, debug, info, warn, error, fatal or silent; audit lines are logged at every level except silent',
  },
} as const satisfies Record<string, Option>;

export type OptionName = keyof typeof OPTIONS;

/** Returns the option with this name; undefined if there is none. */
export function optionOf(name: string): Option | undefined {
  return Object.hasOwn(OPTIONS, name) ? OPTIONS[name as OptionName] : undefined;
}

/** Returns an option with its placeholder, as `--help` shows it. */
export function formatUsage(name: string, { value }: Option): string {
  return `--${name}${value === undefined ? '' : ` ${value}`}`;
}

/** Returns the environment variable of an option. */
export function toVariableName(name: string): string {
  return `PURSER_${name.toUpperCase().replaceAll('-', '_')}`;
}
