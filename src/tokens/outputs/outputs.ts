// The keys of a token's Secret: the forms in which workloads, Flux, Cluster API and Argo CD read a token.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { TokenSecretKey as Key } from '../../api/names.ts';
import { serverUrl } from '../../targets/policy/registration.ts';

type Output = ManagedToken['spec']['secret']['outputs'][number];

/** Values of a Secret by their keys, as text. */
export type SecretTexts = Readonly<Record<string, string>>;

/** Everything that goes into a Secret besides the token. */
export interface OutputTarget {
  readonly outputs: readonly Output[];
  readonly cluster: string;
  /** An https URL. */
  readonly server: string;
  /** Base64 of PEM; absent where public roots vouch for the cluster. */
  readonly caBundle?: string;
  readonly namespace: string;
  readonly account: string;
}

/** Addresses and certificate authority that a token may be written next to. */
export interface OutputEndpoints {
  /** The first is the one for Purser's own place in the network. */
  readonly servers: readonly string[];
  /** Base64 of PEM; undefined where public roots vouch for the cluster. */
  readonly caBundle?: string | undefined;
}

/** Returns everything but the token; undefined if the spec names an address that is not among `servers`. */
export function outputTarget({ spec }: ManagedToken, { servers, caBundle }: OutputEndpoints): OutputTarget | undefined {
  const { server: wanted } = spec.secret;
  const server = wanted === undefined ? servers[0] : servers.find((each) => each === serverUrl(wanted));
  if (server === undefined) return undefined;
  return {
    outputs: spec.secret.outputs,
    cluster: spec.clusterName,
    server,
    ...(caBundle !== undefined && { caBundle }),
    namespace: spec.serviceAccount.namespace,
    account: spec.serviceAccount.name,
  };
}

/** All keys with their values. */
export function outputTexts(target: OutputTarget, token: string): SecretTexts {
  const texts = target.outputs.map((output) => FORMS[output]?.(target, token));
  return Object.assign({}, ...texts, { [Key.token]: token });
}

/**
 * All keys and values as one text with the token blanked out. Equal for what is stored and what is wanted if and only
 * if what is stored needs no rewriting, so that its digest tells that without the token.
 */
export function outputsText(texts: SecretTexts): string {
  const blank = blankerOf(texts[Key.token] ?? '');
  const blanked = Object.entries(texts).map(([key, text]) => [key, blank(text)] as const);
  return JSON.stringify(blanked.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The keys that hold the token in one form or another. */
export const TOKEN_KEYS: readonly string[] = [Key.token, Key.kubeconfig, Key.value, Key.config];

/** No text that people write contains it. */
const BLANK = '\0';
/** Length up to which `replaceAll` is fast for any token. */
const SHORT = 64;

/**
 * Returns a function that blanks a token out of a text in linear time (Knuth, Morris, Pratt). Tenants write both, and `replaceAll`
 * takes a minute for a long token of the right kind.
 */
function blankerOf(token: string): (text: string) => string {
  if (token === '') return (text) => text;
  if (token.length <= SHORT) return (text) => text.replaceAll(token, BLANK);
  const borders = bordersOf(token);
  return (text) => {
    let [result, keptTo, matched] = ['', 0, 0];
    for (let index = 0; index < text.length; index++) {
      matched = extended(token, borders, matched, text.charCodeAt(index));
      if (matched < token.length) continue;
      result += text.slice(keptTo, index + 1 - token.length) + BLANK;
      [keptTo, matched] = [index + 1, 0];
    }
    return result + text.slice(keptTo);
  };
}

/** Returns for each prefix of a text the length of its longest proper prefix that is also its end. */
function bordersOf(text: string): Int32Array {
  const borders = new Int32Array(text.length);
  for (let index = 1; index < text.length; index++) {
    borders[index] = extended(text, borders, borders[index - 1] ?? 0, text.charCodeAt(index));
  }
  return borders;
}

/** Returns the length of the longest prefix of `token` that ends with the next character, after one of length `matched`. */
function extended(token: string, borders: Int32Array, matched: number, code: number): number {
  let length = matched;
  while (length > 0 && token.charCodeAt(length) !== code) length = borders[length - 1] ?? 0;
  return token.charCodeAt(length) === code ? length + 1 : length;
}

const FORMS: Readonly<Record<Output, (target: OutputTarget, token: string) => SecretTexts>> = {
  Token: ({ caBundle, server, namespace }) => ({
    ...(caBundle && { [Key.caCertificate]: Buffer.from(caBundle, 'base64').toString() }),
    [Key.server]: server,
    [Key.namespace]: namespace,
  }),
  Kubeconfig: (target, token) => {
    const text = kubeconfig(target, token);
    return { [Key.kubeconfig]: text, [Key.value]: text };
  },
  ArgoCD: ({ cluster, server, caBundle }, token) => ({
    [Key.name]: cluster,
    [Key.server]: server,
    [Key.config]: JSON.stringify({ bearerToken: token, tlsClientConfig: { insecure: false, ...(caBundle && { caData: caBundle }) } }),
  }),
};

/** JSON strings are YAML, too. */
function kubeconfig({ cluster, server, caBundle, namespace, account }: OutputTarget, token: string): string {
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
    token: ${quoted(token)}
contexts:
- name: ${quoted(cluster)}
  context:
    cluster: ${quoted(cluster)}
    user: ${quoted(account)}
    namespace: ${quoted(namespace)}
current-context: ${quoted(cluster)}
`;
}
