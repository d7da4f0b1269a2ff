// The outputs of a token's Secret: the forms of spec.secret.outputs, and the data and labels that they render. To add a form, see "an
// output format" in docs/contributing.md: labels, digests, removal on expiry and docs/api.md follow from its object in FORMS.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { omitUndefined } from '../../std/omit-undefined.ts';
import { normalizeServer } from '../../targets/policy/registration.ts';

type SecretSpec = ManagedToken['spec']['secret'];
type Output = SecretSpec['outputs'][number];

/** Values of a Secret by their keys, as text. */
export type SecretTexts = Readonly<Record<string, string>>;

/** Content of a Secret other than the token. */
export interface OutputContent {
  readonly outputs: readonly Output[];
  readonly cluster: string;
  /** URL of the API server, with the scheme https. */
  readonly server: string;
  /** Base64-encoded PEM; undefined where public certificate authorities issue the server's certificate. */
  readonly caBundle?: string;
  readonly namespace: string;
  /** Name of the service account. */
  readonly serviceAccount: string;
  /** Settings of the cluster in Argo CD; undefined if there are none. */
  readonly argocd?: SecretSpec['argocd'];
  /** Keys besides those of the outputs, and the sources of their values. */
  readonly keys?: SecretSpec['keys'];
}

/** One form in which consumers read a token. */
export interface OutputForm {
  /** Keys that the form may add to the Secret besides `token`, with their descriptions for docs/api.md. */
  readonly keys: Readonly<Record<string, string>>;
  /** True if consumers send the token to the cluster's API server. */
  readonly isForAPI?: boolean;
  /** Labels that consumers select the Secret by. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Renders the keys. The result may hold the token in any encoding, and depends on nothing but the arguments. */
  render(content: OutputContent, token: string): SecretTexts;
}

const SERVER = 'URL of the API server: `spec.secret.server`, or by default the address for the network that Purser runs in.';

const token: OutputForm = {
  keys: {
    'ca.crt': "CA certificates as PEM: those in the Cluster's `caBundle` or, for the hub, those that Purser trusts; absent without a CA.",
    server: SERVER,
    namespace: 'Namespace of the service account.',
  },
  render: ({ caBundle, server, namespace }) => ({
    ...(caBundle && { 'ca.crt': toPem(caBundle) }),
    server,
    namespace,
  }),
};

const kubeconfig: OutputForm = {
  isForAPI: true,
  keys: {
    kubeconfig: 'Kubeconfig that contains the token.',
    value: 'Same content as `kubeconfig`. Flux and Cluster API read this key.',
  },
  render: (content, bearer) => {
    const text = renderKubeconfig(content, bearer);
    return { kubeconfig: text, value: text };
  },
};

const argoCD: OutputForm = {
  isForAPI: true,
  keys: {
    name: 'Name of the Cluster.',
    server: SERVER,
    config: 'Connection settings for Argo CD, including the token, as JSON.',
    project: '`spec.secret.argocd.project`, if set.',
    namespaces: '`spec.secret.argocd.namespaces`, separated by commas, if set.',
    clusterResources: '`true` if `spec.secret.argocd.clusterResources` is true.',
    shard: '`spec.secret.argocd.shard`, if set.',
  },
  // Argo CD treats a Secret with this label as a cluster.
  labels: { 'argocd.argoproj.io/secret-type': 'cluster' },
  render: ({ cluster, server, caBundle, argocd = {} }, bearer) => ({
    name: cluster,
    server,
    config: JSON.stringify({ bearerToken: bearer, tlsClientConfig: { insecure: false, ...(caBundle && { caData: caBundle }) } }),
    ...renderArgoSettings(argocd),
  }),
};

/** Renders the settings as Argo CD writes them itself: without keys for settings that are unset or false. */
function renderArgoSettings({ project, namespaces, clusterResources, shard }: NonNullable<SecretSpec['argocd']>): SecretTexts {
  return {
    ...(project && { project }),
    ...(namespaces && { namespaces: namespaces.join(',') }),
    ...(clusterResources && { clusterResources: 'true' }),
    ...(shard !== undefined && { shard: String(shard) }),
  };
}

/** Output forms by name. If a value of the CRD's enum has no form here, the code does not compile. */
const FORMS: Readonly<Record<Output, OutputForm>> = { Token: token, Kubeconfig: kubeconfig, ArgoCD: argoCD };

/** FORMS as a map, for lookups by names that may not be in the CRD. */
export const outputForms = new Map<string, OutputForm>(Object.entries(FORMS));

/** A token and its expiry. */
export interface DatedToken {
  readonly token: string;
  /** Expiry in RFC 3339. */
  readonly expiresAt: string;
}

type Source = NonNullable<SecretSpec['keys']>[number]['from'];

/**
 * Functions that return the value for each source in `spec.secret.keys`, or undefined if the cluster has no such value. If a source in the
 * CRD has no function here, the code does not compile.
 */
const SOURCES: Readonly<Record<Source, (content: OutputContent, issued: DatedToken) => string | undefined>> = {
  Token: (_, { token: bearer }) => bearer,
  CA: ({ caBundle }) => caBundle && toPem(caBundle),
  Server: ({ server }) => server,
  Namespace: ({ namespace }) => namespace,
  ClusterName: ({ cluster }) => cluster,
  ExpiresAt: (_, { expiresAt }) => expiresAt,
  Kubeconfig: (content, { token: bearer }) => renderKubeconfig(content, bearer),
};

/** Renders the keys of `spec.secret.keys`. */
function renderKeys(content: OutputContent, issued: DatedToken): SecretTexts {
  const texts = (content.keys ?? []).map(({ key, from }) => [key, SOURCES[from]?.(content, issued)] as const);
  return Object.fromEntries(texts.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
}

/** Returns whether the values of a source contain the token in any encoding: whether they differ for two tokens. */
function isTokenSource(from: Source): boolean {
  const [one, other] = ['one', 'other'].map((bearer) => SOURCES[from]?.(SAMPLE, { token: bearer, expiresAt: '' }));
  return one !== other;
}

function toPem(caBundle: string): string {
  return Buffer.from(caBundle, 'base64').toString();
}

/** Renders a kubeconfig. Strings are quoted as JSON, which is valid YAML. */
function renderKubeconfig({ cluster, server, caBundle, namespace, serviceAccount }: OutputContent, bearer: string): string {
  const quoted = JSON.stringify;
  return `apiVersion: v1
kind: Config
clusters:
- name: ${quoted(cluster)}
  cluster:
    server: ${quoted(server)}
${caBundle === undefined ? '' : `    certificate-authority-data: ${quoted(caBundle)}\n`}users:
- name: ${quoted(serviceAccount)}
  user:
    token: ${quoted(bearer)}
contexts:
- name: ${quoted(cluster)}
  context:
    cluster: ${quoted(cluster)}
    user: ${quoted(serviceAccount)}
    namespace: ${quoted(namespace)}
current-context: ${quoted(cluster)}
`;
}

/** Key of the token itself. Every Secret has this key. */
export const TOKEN_KEY = 'token';

/** Addresses and certificate authority that Purser may write to a Secret with a token. */
export interface OutputEndpoints {
  /** Addresses of the API server; the first one is for the network that Purser runs in. */
  readonly servers: readonly string[];
  /** Base64-encoded PEM; undefined where public certificate authorities issue the server's certificate. */
  readonly caBundle?: string | undefined;
}

/** Returns the content of the Secret except the token; undefined if the spec names an address that is not among `servers`. */
export function toOutputContent({ spec }: ManagedToken, { servers, caBundle }: OutputEndpoints): OutputContent | undefined {
  const { server: wanted } = spec.secret;
  const server = wanted === undefined ? servers[0] : servers.find((each) => each === normalizeServer(wanted));
  if (server === undefined) return undefined;
  const { outputs, argocd, keys } = spec.secret;
  return omitUndefined({
    outputs,
    cluster: spec.clusterName,
    server,
    caBundle,
    namespace: spec.serviceAccount.namespace,
    serviceAccount: spec.serviceAccount.name,
    argocd,
    keys,
  });
}

/** Renders all keys of a Secret. */
export function renderOutputs(content: OutputContent, issued: DatedToken): SecretTexts {
  const texts = content.outputs.map((output) => outputForms.get(output)?.render(content, issued.token));
  return Object.assign({}, ...texts, renderKeys(content, issued), { [TOKEN_KEY]: issued.token });
}

/** Returns the outputs and keys whose consumers send the token to the cluster's API server, with their fields in the spec. */
export function outputsForAPI({ outputs, keys = [] }: SecretSpec): readonly { readonly name: string; readonly field: string }[] {
  const forms = outputs.filter((output) => outputForms.get(output)?.isForAPI === true);
  const kubeconfigs = keys.filter(({ from }) => from === 'Kubeconfig');
  return [
    ...forms.map((name) => ({ name, field: 'spec.secret.outputs' })),
    ...kubeconfigs.map(({ key: name }) => ({ name, field: 'spec.secret.keys' })),
  ];
}

/** Returns the labels that consumers of these outputs select by. */
export function outputLabels(outputs: readonly string[]): Readonly<Record<string, string>> {
  return Object.assign({}, ...outputs.map((output) => outputForms.get(output)?.labels));
}

/** Returns whether a label belongs to any output form, including forms that the spec no longer names. */
export function isOutputLabel(key: string): boolean {
  return [...outputForms.values()].some(({ labels = {} }) => Object.hasOwn(labels, key));
}

/** Returns the keys of outputs that hold the token in any encoding: those whose text differs for two tokens. */
export function findTokenKeys(): readonly string[] {
  const [one, other] = ['one', 'other'].map((bearer) => [...outputForms.values()].map((form) => form.render(SAMPLE, bearer)));
  const differing = (one ?? []).flatMap((texts, index) => Object.keys(texts).filter((key) => texts[key] !== other?.[index]?.[key]));
  return [TOKEN_KEY, ...new Set(differing)];
}

/**
 * Returns whether a key never holds the token: an output uses the key for another value, and `keyProblem` rejects the key for the token.
 */
export function isTokenFree(key: string): boolean {
  return !findTokenKeys().includes(key) && [...outputForms.values()].some(({ keys }) => Object.hasOwn(keys, key));
}

/** Returns the problem with an item of `spec.secret.keys`; undefined if there is none. */
export function keyProblem({ key, from }: NonNullable<SecretSpec['keys']>[number], outputs: readonly string[]): string | undefined {
  if (!SECRET_KEY.test(key) || key === '.' || key.startsWith('..'))
    return "must be a valid key of a Secret (letters, digits, '-', '_' and '.'; neither '.' nor beginning with '..')";
  if (key === TOKEN_KEY || outputs.some((output) => Object.hasOwn(outputForms.get(output)?.keys ?? {}, key)))
    return `must not be ${TOKEN_KEY} or a key of the chosen outputs`;
  return isTokenSource(from) && isTokenFree(key)
    ? 'must not be a key that some output format uses for a value without the token, such as server, if from is Token or Kubeconfig'
    : undefined;
}

const SECRET_KEY = /^[-._a-zA-Z0-9]{1,253}$/;

const SAMPLE: OutputContent = {
  outputs: [],
  cluster: 'cluster',
  server: 'https://cluster.example.com',
  caBundle: 'Q0E=',
  namespace: 'namespace',
  serviceAccount: 'service-account',
};
