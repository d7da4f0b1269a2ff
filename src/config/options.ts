// Every option, declared once: help, environment variables, checks and the table in docs/operating.md are made from here.

import {
  anyText,
  duration,
  durationOrNever,
  flag,
  namespace,
  namespaces,
  objectName,
  oneOf,
  pathSegment,
  port,
  type Reader,
  someOf,
  texts,
  tokenLifetime,
  whole,
} from './values.ts';

/** One option of the command line, and the environment variable of the same name. */
export interface Option {
  /** What the value stands for; absent where there is none. */
  readonly value?: string;
  /** The text that counts when none is given. */
  readonly initial?: string;
  /** What counts when none is given, for people. */
  readonly otherwise?: string;
  readonly read: Reader<unknown>;
  readonly text: string;
  /** Whether it means something in the local run alone. */
  readonly local?: true;
  /** Whether it asks for a text in place of a run; such an option has no variable. */
  readonly asks?: true;
}

/** The options, in the order in which they are listed. */
export const OPTIONS = {
  'data-dir': {
    value: 'DIR',
    initial: '.purser',
    read: anyText,
    text: 'where everything is kept; a second start goes on with it',
    local: true,
  },
  'api-port': { value: 'PORT', initial: '7443', read: port, text: "port of the hub's API server; 0 = any free port", local: true },
  clusters: { value: 'N', initial: '1', read: whole(100), text: 'how many target clusters to run beside the hub', local: true },
  'no-samples': { read: flag, text: 'no sample namespaces and ManagedTokens', local: true },
  'facade-port': { value: 'PORT', initial: '7444', read: port, text: 'port of the façade' },
  'facade-path': {
    value: 'NAME',
    initial: 'orchestrator',
    read: pathSegment,
    text: 'first part of the paths of token requests at the façade',
  },
  'facade-audiences': {
    value: 'AUD,AUD',
    otherwise: "the hub's own",
    read: texts,
    text: 'whom tokens must be for that callers of the façade show: one of these',
  },
  'facade-default-audiences': {
    value: 'AUD,AUD',
    otherwise: 'none, they are required',
    read: texts,
    text: 'audiences of tokens for which a caller of the façade names none',
  },
  'facade-annotations': {
    value: 'PREFIX,PREFIX',
    otherwise: 'none',
    read: texts,
    text: 'annotations of Clusters that callers of the façade may read: those that begin so',
  },
  'facade-rate': {
    value: 'N',
    initial: '100',
    read: whole(1_000_000),
    text: 'requests per second that one caller of the façade may make, twice as many in a burst (0 disables)',
  },
  'facade-tls-cert': {
    value: 'FILE',
    otherwise: 'self-made',
    read: anyText,
    text: 'certificate of the façade with its chain, PEM; read again when it changes',
  },
  'facade-tls-key': { value: 'FILE', otherwise: 'self-made', read: anyText, text: 'private key of that certificate, PEM' },
  'facade-tls-secret': {
    value: 'NAME',
    read: objectName,
    text: 'Secret in the namespace of Purser with that certificate for all replicas; made, and renewed, where there is none',
  },
  'metrics-port': { value: 'PORT', initial: '7445', read: port, text: 'port of /metrics, /livez and /readyz' },
  'metrics-auth': {
    value: 'WHO',
    otherwise: 'none on this machine, token on a cluster',
    read: oneOf(['token', 'none']),
    text: 'who may read /metrics: token = whoever the hub lets get that path, none = everybody',
  },
  'metrics-tls': { read: flag, text: 'serves metrics and health with the certificate of the façade' },
  'bind-address': {
    value: 'ADDRESS',
    otherwise: '127.0.0.1 on this machine, all on a cluster',
    read: anyText,
    text: 'address of the machine to listen on',
  },
  'ready-file': { value: 'FILE', read: anyText, text: 'JSON with addresses, files and tokens; there while everything serves' },
  namespace: { value: 'NS', initial: 'purser-system', read: namespace, text: 'where Purser is installed: its Lease is there' },
  namespaces: {
    value: 'NS,NS',
    otherwise: 'all',
    read: namespaces,
    text: 'where ManagedTokens count; in others Purser reads and writes nothing',
  },
  components: {
    value: 'PART,PART',
    initial: 'controller,facade',
    read: someOf(['controller', 'facade']),
    text: 'what this process does: on a cluster the parts can run apart, each with an account of its own',
  },
  'install-crds': { read: flag, text: 'installs the custom resources of Purser on the hub, and updates them, at every start' },
  'credential-namespaces': {
    value: 'NS,NS',
    otherwise: 'the same',
    read: namespaces,
    text: 'where credentials for clusters are read from',
  },
  'protected-namespaces': {
    value: 'NS,NS',
    initial: 'kube-system,kube-public,kube-node-lease',
    read: namespaces,
    text: 'namespaces of clusters whose accounts must be named in a rule',
  },
  'max-token-lifetime': {
    value: 'TIME',
    initial: '24h',
    read: tokenLifetime,
    text: 'longest lifetime of a token; longer requests are shortened',
  },
  'allowed-audiences': { value: 'AUD,AUD', otherwise: 'all', read: texts, text: 'the audiences that a ManagedToken may name' },
  'verify-interval': {
    value: 'TIME',
    initial: '15m',
    read: durationOrNever,
    text: 'how often every token is put to its cluster; 0 = never',
  },
  'probe-interval': { value: 'TIME', initial: '10s', read: duration, text: 'how often clusters are asked whether they are ready' },
  'access-interval': { value: 'TIME', initial: '1m', read: duration, text: "how often their version and Purser's rights are looked at" },
  'hub-cluster': { value: 'NAME', read: objectName, text: 'the Cluster that is the one that Purser runs on' },
  'allow-loopback': { read: flag, text: 'lets clusters be on the machine that Purser runs on; the local run does so anyway' },
  'log-level': {
    value: 'LEVEL',
    otherwise: 'warn on this machine, info on a cluster',
    read: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    text: 'how much is logged: trace, debug, info, warn, error, fatal or silent',
  },
  help: { read: flag, text: 'this text', asks: true },
  version: { read: flag, text: 'the version of Purser', asks: true },
} as const satisfies Record<string, Option>;

export type OptionName = keyof typeof OPTIONS;

/** The option of that name, if there is one. */
export function optionOf(name: string): Option | undefined {
  return Object.hasOwn(OPTIONS, name) ? OPTIONS[name as OptionName] : undefined;
}

/** The environment variable that an option can be given by. */
export function variableOf(name: string): string {
  return `PURSER_${name.toUpperCase().replaceAll('-', '_')}`;
}
