// What a person can set, checked once. The options themselves are in options.ts.

import { type Command, type Env, type GivenOption, readGiven } from './arguments.ts';
import { type OPTIONS, type OptionName, optionOf } from './options.ts';
import { StartError } from './start-error.ts';
import { unknownVariables } from './unknown-variables.ts';
import { ValueError } from './values.ts';

/** Settings of one run, checked and complete. */
export interface Config {
  /** The command that was given; undefined leaves it to KUBECONFIG. */
  readonly command: Command | undefined;
  /** Whether to tell how Purser is used, or which version it is, and nothing else. */
  readonly help: boolean;
  readonly version: boolean;
  /** The value of KUBECONFIG; undefined where there is none. */
  readonly kubeConfig: string | undefined;
  readonly dataDir: string;
  readonly apiPort: number;
  readonly facadePort: number;
  /** The first part of the paths of token requests. */
  readonly facadePath: string;
  /** One of them must be among those that a caller's token is for; none for those of the hub. */
  readonly facadeAudiences: readonly string[];
  /** Those of token requests that name none; without any, such requests are refused. */
  readonly facadeDefaultAudiences: readonly string[];
  /** Annotations of Clusters that begin so are public. */
  readonly facadeAnnotations: readonly string[];
  /** How many requests a second one caller may make; 0 for any number. */
  readonly facadeRate: number;
  readonly facadeTlsCert: string | undefined;
  readonly facadeTlsKey: string | undefined;
  /** The Secret that has them instead. */
  readonly facadeTlsSecret: string | undefined;
  readonly metricsPort: number;
  /** Who may read the metrics; undefined for what suits the command. */
  readonly metricsAuth: Value<'metrics-auth'>;
  /** Whether the metrics are served with the certificate of the façade. */
  readonly metricsTls: boolean;
  /** Where to listen; undefined for what suits the command. */
  readonly bindAddress: string | undefined;
  /** How many target clusters the local run plays. */
  readonly clusters: number;
  readonly samples: boolean;
  readonly readyFile: string | undefined;
  readonly logLevel: Value<'log-level'>;
  /** Where Purser is installed. */
  readonly namespace: string;
  /** Where ManagedTokens count; undefined for everywhere. */
  readonly namespaces: readonly string[] | undefined;
  readonly installCrds: boolean;
  /** What this process does. */
  readonly components: Value<'components'>;
  /** Where credentials for clusters are read from. */
  readonly credentialNamespaces: readonly string[];
  /** Namespaces whose accounts must be named in a rule. */
  readonly protectedNamespaces: readonly string[];
  /** Longest lifetime of a token; longer requests are shortened. */
  readonly maxExpirationSeconds: number;
  /** The audiences that a ManagedToken may name; undefined for all. */
  readonly allowedAudiences: readonly string[] | undefined;
  /** The proxy by which clusters are reached, and those that are reached without. */
  readonly httpsProxy: string | undefined;
  readonly noProxy: string | undefined;
  /** How often every token is put to TokenReview; 0 for never. */
  readonly verifyIntervalMs: number;
  /** How often clusters are asked whether they are ready. */
  readonly probeIntervalMs: number;
  /** How often their version, and our identity and rights there, are looked at. */
  readonly accessIntervalMs: number;
  /** The Cluster that is the hub itself. */
  readonly hubCluster: string | undefined;
  /** Whether clusters may be on the machine that Purser runs on. */
  readonly allowLoopback: boolean;
  /** Options that were given and mean something in the local run alone. */
  readonly localOnly: readonly string[];
  /** Variables that are called like those of options, and are none. */
  readonly unknownVariables: readonly string[];
}

/** Reads options and environment. Throws one StartError that names everything that is wrong with them. */
export function parseConfig(args: readonly string[], env: Env): Config {
  const { command, options, problems: misread } = readGiven(args, env);
  const { read, problems } = reader(options);
  const namespace = read('namespace');
  const config: Config = {
    command,
    help: read('help'),
    version: read('version'),
    kubeConfig: env['KUBECONFIG'] || undefined,
    dataDir: read('data-dir'),
    apiPort: read('api-port'),
    facadePort: read('facade-port'),
    facadePath: read('facade-path'),
    facadeAudiences: read('facade-audiences') ?? [],
    facadeDefaultAudiences: read('facade-default-audiences') ?? [],
    facadeAnnotations: read('facade-annotations') ?? [],
    facadeRate: read('facade-rate'),
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
    ...proxyOf(env),
    verifyIntervalMs: read('verify-interval'),
    probeIntervalMs: read('probe-interval'),
    accessIntervalMs: read('access-interval'),
    hubCluster: read('hub-cluster'),
    allowLoopback: read('allow-loopback'),
    localOnly: [...options].filter(([name]) => optionOf(name)?.local).map(([, { from }]) => from),
    unknownVariables: unknownVariables(env),
  };
  const all = [...misread, ...problems, ...sharedPorts(config), ...halfCertificate(config), ...proxyProblems(config)];
  if (all.length > 0) throw new StartError(`${all.join('; ')} (purser --help lists the options)`);
  return Object.freeze(config);
}

/** A proxy without a scheme is spoken to in plain http, as everywhere. */
function proxyOf(env: Env): Pick<Config, 'httpsProxy' | 'noProxy'> {
  const given = env['HTTPS_PROXY'] || env['https_proxy'] || undefined;
  const httpsProxy = given === undefined || given.includes('://') ? given : `http://${given}`;
  return { httpsProxy, noProxy: env['NO_PROXY'] || env['no_proxy'] || undefined };
}

/** The URL of a proxy may hold a password, so it is not shown. */
function proxyProblems({ httpsProxy }: Config): readonly string[] {
  const isUsable = httpsProxy === undefined || (/^https?:/i.test(httpsProxy) && URL.canParse(httpsProxy));
  return isUsable ? [] : ['HTTPS_PROXY must be an http or https URL'];
}

type Table = typeof OPTIONS;

/** What an option gives: there is a value where one is given, where there is a default, and for a flag. */
type Value<N extends OptionName> =
  | ReturnType<Table[N]['read']>
  | (Table[N] extends { readonly initial: string } ? never : Table[N] extends { readonly value: string } ? undefined : never);

/** Reads values one by one. What is wrong is kept for the end: a configuration with problems is never used. */
function reader(options: ReadonlyMap<OptionName, GivenOption>): {
  readonly read: <N extends OptionName>(name: N) => Value<N>;
  readonly problems: readonly string[];
} {
  const problems: string[] = [];
  const valueOf = (name: OptionName): unknown => {
    const option = optionOf(name);
    const { text, from } = options.get(name) ?? { text: option?.value === undefined ? 'false' : option.initial, from: `--${name}` };
    try {
      return text === undefined ? undefined : option?.read(text);
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      problems.push(`${from} must be ${error.message}, not ${JSON.stringify(text)}`);
    }
  };
  return { read: <N extends OptionName>(name: N) => valueOf(name) as Value<N>, problems };
}

function halfCertificate({ facadeTlsCert, facadeTlsKey, facadeTlsSecret }: Config): readonly string[] {
  if ((facadeTlsCert === undefined) !== (facadeTlsKey === undefined)) return ['--facade-tls-cert and --facade-tls-key belong together'];
  const isTwice = facadeTlsCert !== undefined && facadeTlsSecret !== undefined;
  return isTwice ? ['--facade-tls-secret takes the place of --facade-tls-cert and --facade-tls-key'] : [];
}

function sharedPorts({ apiPort, facadePort, metricsPort }: Config): readonly string[] {
  const ports = [
    ['--api-port', apiPort],
    ['--facade-port', facadePort],
    ['--metrics-port', metricsPort],
  ] as const;
  return ports.flatMap(([name, port], index) => {
    const other = ports.slice(0, index).find(([, taken]) => taken === port && port > 0);
    return other === undefined ? [] : [`${other[0]} and ${name} are both ${port}`];
  });
}
