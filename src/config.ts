// What a person can set: the options of the command line and the few environment variables that count.

import { parseArgs } from 'node:util';
import { parseDuration } from './std/duration.ts';

/** Settings of one run, checked and complete. */
export interface Config {
  readonly help: boolean;
  /** The value of KUBECONFIG; undefined where there is none. */
  readonly kubeConfig: string | undefined;
  readonly dataDir: string;
  readonly apiPort: number;
  readonly facadePort: number;
  readonly metricsPort: number;
  /** How many target clusters the local run plays. */
  readonly clusters: number;
  readonly samples: boolean;
  readonly readyFile: string | undefined;
  readonly logLevel: LogLevel | undefined;
  /** Where Purser is installed. */
  readonly namespace: string;
  /** Where credentials for clusters are read from. */
  readonly credentialNamespaces: readonly string[];
  /** Namespaces whose accounts must be named in a rule. */
  readonly protectedNamespaces: readonly string[];
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
}

/** From the most to the least that is logged. */
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

type LogLevel = (typeof LOG_LEVELS)[number];

/** What a person has to put right before Purser can start, in one line that says how. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** Reads options and environment. Throws one StartError that names everything that is wrong with them. */
export function parseConfig(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Config {
  const { values, problems } = readOptions(args);
  const text = (name: OptionName) => values.get(name) ?? OPTIONS_BY_NAME[name]?.initial ?? '';
  const whole = (name: OptionName, max: number) => {
    const value = /^\d{1,9}$/.test(text(name)) ? Number(text(name)) : Number.NaN;
    if (!(value <= max)) problems.push(`--${name} must be a number from 0 to ${max}, not ${JSON.stringify(text(name))}`);
    return value;
  };
  const names = (name: OptionName) => {
    const list = text(name)
      .split(',')
      .filter((item) => item !== '');
    const wrong = list.filter((item) => !/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(item));
    if (wrong.length > 0)
      problems.push(`--${name} must be names of namespaces with commas between them, not ${JSON.stringify(text(name))}`);
    return list;
  };
  const level = env['PURSER_LOG_LEVEL'] || undefined;
  const logLevel = LOG_LEVELS.find((each) => each === level);
  if (logLevel !== level) problems.push(`PURSER_LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}`);
  const config: Config = {
    help: values.has('help'),
    kubeConfig: env['KUBECONFIG'] || undefined,
    dataDir: text('data-dir'),
    apiPort: whole('api-port', MAX_PORT),
    facadePort: whole('facade-port', MAX_PORT),
    metricsPort: whole('metrics-port', MAX_PORT),
    clusters: whole('clusters', MAX_CLUSTERS),
    samples: !values.has('no-samples'),
    readyFile: values.get('ready-file'),
    logLevel,
    namespace: names('namespace')[0] ?? '',
    credentialNamespaces: names(values.has('credential-namespaces') ? 'credential-namespaces' : 'namespace'),
    protectedNamespaces: names('protected-namespaces'),
    verifyIntervalMs: duration('verify-interval', text('verify-interval'), problems),
    probeIntervalMs: period('probe-interval', text('probe-interval'), problems),
    accessIntervalMs: period('access-interval', text('access-interval'), problems),
    hubCluster: values.get('hub-cluster'),
    allowLoopback: values.has('allow-loopback'),
    localOnly: [...values.keys()].filter((name) => OPTIONS[name].local).map((name) => `--${name}`),
  };
  problems.push(...sharedPorts(config));
  if (problems.length > 0) throw new StartError(`${problems.join('; ')} (npm start -- --help lists the options)`);
  return Object.freeze(config);
}

/** The text of `--help`. */
export function helpText(): string {
  const lines = Object.entries<Option>(OPTIONS).map(([name, { value, initial, text }]) => {
    const usage = `--${name}${value === undefined ? '' : ` ${value}`}`;
    return `  ${usage.padEnd(32)}${text}${initial === undefined ? '' : ` (default ${initial})`}`;
  });
  return `Usage: npm start -- [options]

Runs Purser on this machine: a Kubernetes API server of its own (the hub), target clusters to issue tokens for, and
Purser itself. With KUBECONFIG set, Purser runs on that cluster instead, and the first options up to --no-samples, but
for the ports of the façade and of the metrics, count for nothing.

Options:
${lines.join('\n')}

Environment:
  KUBECONFIG                      the cluster to run on; empty counts as unset
  PURSER_LOG_LEVEL                ${LOG_LEVELS.join(', ')} (default warn on this machine, info on a cluster)
`;
}

interface Option {
  /** What the value stands for; absent where there is none. */
  readonly value?: string;
  readonly initial?: string;
  readonly text: string;
  /** Without effect when Purser runs on a cluster. */
  readonly local: boolean;
}

const OPTIONS = {
  'data-dir': { value: 'DIR', initial: '.purser', text: 'where everything is kept', local: true },
  'api-port': { value: 'PORT', initial: '7443', text: "port of the hub's API server, 0 = any free port", local: true },
  'facade-port': { value: 'PORT', initial: '7444', text: 'port of the façade, once there is one', local: false },
  'metrics-port': { value: 'PORT', initial: '7445', text: 'port of the metrics, once there are some', local: false },
  clusters: { value: 'N', initial: '1', text: 'how many target clusters to run beside the hub', local: true },
  'no-samples': { text: 'no sample namespaces and ManagedTokens', local: true },
  'ready-file': { value: 'FILE', text: 'JSON with addresses and tokens, written when everything serves', local: false },
  namespace: { value: 'NS', initial: 'purser-system', text: 'where Purser is installed', local: false },
  'credential-namespaces': { value: 'NS,NS', text: 'where credentials for clusters are read from (default that one)', local: false },
  'protected-namespaces': {
    value: 'NS,NS',
    initial: 'kube-system,kube-public,kube-node-lease',
    text: 'namespaces of clusters whose accounts must be named in a rule',
    local: false,
  },
  'verify-interval': { value: 'TIME', initial: '15m', text: 'how often every token is put to its cluster, 0 = never', local: false },
  'probe-interval': { value: 'TIME', initial: '10s', text: 'how often clusters are asked whether they are ready', local: false },
  'access-interval': { value: 'TIME', initial: '1m', text: "how often their version and Purser's rights are looked at", local: false },
  'hub-cluster': { value: 'NAME', text: 'the Cluster that is the one that Purser runs on', local: false },
  'allow-loopback': { text: 'let clusters be on the machine that Purser runs on', local: false },
  help: { text: 'this text', local: false },
} as const satisfies Record<string, Option>;

type OptionName = keyof typeof OPTIONS;

const OPTIONS_BY_NAME: Readonly<Record<string, Option>> = OPTIONS;
const MAX_PORT = 65_535;
const MAX_CLUSTERS = 100;
const MIN_INTERVAL_MS = 1_000;

/** The options that were given, the last of each, and what is wrong with the others. */
function readOptions(args: readonly string[]): { values: Map<OptionName, string>; problems: string[] } {
  const types = Object.entries<Option>(OPTIONS).map(
    ([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' }] as const,
  );
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(types),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const values = new Map<OptionName, string>();
  const problems: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') problems.push(`unexpected argument ${JSON.stringify(token.value)}; with npm, options follow after --`);
    if (token.kind !== 'option') continue;
    const problem = problemOf(token);
    if (problem !== undefined) problems.push(problem);
    else values.set(token.name as OptionName, token.value ?? '');
  }
  return { values, problems };
}

function problemOf({ name, rawName, value, inlineValue }: GivenOption): string | undefined {
  const option = Object.hasOwn(OPTIONS_BY_NAME, name) ? OPTIONS_BY_NAME[name] : undefined;
  if (option === undefined || rawName !== `--${name}`) return `unknown option ${rawName}`;
  if (option.value === undefined) return value === undefined ? undefined : `${rawName} takes no value`;
  const isMissing = !value || (inlineValue === false && value.startsWith('--'));
  return isMissing ? `${rawName} needs a value: ${rawName} ${option.value}` : undefined;
}

interface GivenOption {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function duration(name: string, text: string, problems: string[]): number {
  try {
    const ms = parseDuration(text);
    if (ms === 0 || ms >= MIN_INTERVAL_MS) return ms;
  } catch {
    // Said below.
  }
  problems.push(`--${name} must be 0 or a time of at least a second such as 15m or 1h30m, not ${JSON.stringify(text)}`);
  return 0;
}

/** A duration that is not 0. */
function period(name: string, text: string, problems: string[]): number {
  const known = problems.length;
  const ms = duration(name, text, problems);
  if (ms === 0 && problems.length === known) problems.push(`--${name} must not be 0`);
  return ms;
}

function sharedPorts({ apiPort, facadePort, metricsPort }: Config): readonly string[] {
  const ports = [
    ['--api-port', apiPort],
    ['--facade-port', facadePort],
    ['--metrics-port', metricsPort],
  ] as const;
  return ports.flatMap(([name, port], index) => {
    const other = ports.slice(0, index).find(([, taken]) => taken === port && port !== 0);
    return other === undefined ? [] : [`${other[0]} and ${name} are both ${port}`];
  });
}
