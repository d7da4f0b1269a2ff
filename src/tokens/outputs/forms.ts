// The output forms of spec.secret.outputs. To add one, add its name to the enum in crds/managedtokens.tokens.purser.dev.yaml, run
// `npm run generate`, and add an object here: keys, labels, digests, removal on expiry and docs/api.md follow from that object.

import type { ManagedToken } from '../../api/managed-token.gen.ts';

type Output = ManagedToken['spec']['secret']['outputs'][number];

/** Values of a Secret by their keys, as text. */
export type SecretTexts = Readonly<Record<string, string>>;

/** Everything that a Secret holds besides the token. */
export interface OutputTarget {
  readonly outputs: readonly Output[];
  readonly cluster: string;
  /** URL of the API server, with the scheme https. */
  readonly server: string;
  /** Base64 of PEM; undefined where public certificate authorities issue the server's certificate. */
  readonly caBundle?: string;
  readonly namespace: string;
  readonly account: string;
}

/** One form in which consumers read a token. */
export interface OutputForm {
  /** Keys that the form adds to the Secret besides `token`, with the sentences of docs/api.md. */
  readonly keys: Readonly<Record<string, string>>;
  /** True if consumers send the token to the API server of the cluster. */
  readonly isForAPI?: boolean;
  /** Labels by which consumers select the Secret. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Renders the keys. The result may hold the token in any encoding, and depends on nothing but the arguments. */
  render(target: OutputTarget, token: string): SecretTexts;
}

const SERVER = 'URL of the API server: `spec.secret.server`, or else the address for the network that Purser runs in.';

const token: OutputForm = {
  keys: {
    'ca.crt': "CA certificates of the Cluster's `caBundle`, as PEM, or of the hub as Purser reaches it; absent without a CA.",
    server: SERVER,
    namespace: 'Namespace of the service account.',
  },
  render: ({ caBundle, server, namespace }) => ({
    ...(caBundle && { 'ca.crt': Buffer.from(caBundle, 'base64').toString() }),
    server,
    namespace,
  }),
};

const kubeconfig: OutputForm = {
  isForAPI: true,
  keys: {
    kubeconfig: 'Kubeconfig that contains the token.',
    value: 'The same kubeconfig, under the key that Flux and Cluster API read.',
  },
  render: (target, bearer) => {
    const text = kubeconfigText(target, bearer);
    return { kubeconfig: text, value: text };
  },
};

const argoCD: OutputForm = {
  isForAPI: true,
  keys: {
    name: 'Name of the Cluster.',
    server: SERVER,
    config: "Argo CD's connection settings with the token, as JSON.",
  },
  // Argo CD treats a Secret with this label as a cluster.
  labels: { 'argocd.argoproj.io/secret-type': 'cluster' },
  render: ({ cluster, server, caBundle }, bearer) => ({
    name: cluster,
    server,
    config: JSON.stringify({ bearerToken: bearer, tlsClientConfig: { insecure: false, ...(caBundle && { caData: caBundle }) } }),
  }),
};

/** A value of the CRD's enum without a form does not compile. */
const FORMS: Readonly<Record<Output, OutputForm>> = { Token: token, Kubeconfig: kubeconfig, ArgoCD: argoCD };

/** The registered forms by name. */
export const outputForms = new Map<string, OutputForm>(Object.entries(FORMS));

/** Quotes strings as JSON, which is also YAML. */
function kubeconfigText({ cluster, server, caBundle, namespace, account }: OutputTarget, bearer: string): string {
  const quoted = JSON.stringify;
  return `apiVersion: v1
kind: Config
clusters:
- name: ${quoted(cluster)}
  cluster:
    server: ${quoted(server)}
${caBundle === undefined ? '' : `    certificate-authority-data: ${quoted(caBundle)}\n`}users:
- name: ${quoted(account)}
  user:
    token: ${quoted(bearer)}
contexts:
- name: ${quoted(cluster)}
  context:
    cluster: ${quoted(cluster)}
    user: ${quoted(account)}
    namespace: ${quoted(namespace)}
current-context: ${quoted(cluster)}
`;
}
