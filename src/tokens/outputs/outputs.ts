// The data and the labels of a token's Secret, as the registered output forms render them.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { defined } from '../../std/defined.ts';
import { serverUrl } from '../../targets/policy/registration.ts';
import { type DatedToken, isTokenSource, keyTexts, type OutputTarget, outputForms, type SecretTexts } from './forms.ts';

/** Key of the token itself, which every Secret has. */
export const TOKEN_KEY = 'token';

/** Addresses and certificate authority that a token may be written next to. */
export interface OutputEndpoints {
  /** Addresses of the API server; the first one is for the network that Purser runs in. */
  readonly servers: readonly string[];
  /** Base64-encoded PEM; undefined where public certificate authorities issue the server's certificate. */
  readonly caBundle?: string | undefined;
}

/** Returns everything but the token; undefined if the spec names an address that is not among `servers`. */
export function outputTarget({ spec }: ManagedToken, { servers, caBundle }: OutputEndpoints): OutputTarget | undefined {
  const { server: wanted } = spec.secret;
  const server = wanted === undefined ? servers[0] : servers.find((each) => each === serverUrl(wanted));
  if (server === undefined) return undefined;
  const { outputs, argocd, keys } = spec.secret;
  return defined({
    outputs,
    cluster: spec.clusterName,
    server,
    caBundle,
    namespace: spec.serviceAccount.namespace,
    account: spec.serviceAccount.name,
    argocd,
    keys,
  });
}

/** Renders all keys of a Secret. */
export function outputTexts(target: OutputTarget, issued: DatedToken): SecretTexts {
  const texts = target.outputs.map((output) => outputForms.get(output)?.render(target, issued.token));
  return Object.assign({}, ...texts, keyTexts(target, issued), { [TOKEN_KEY]: issued.token });
}

/** Returns the names of the outputs whose consumers send the token to the cluster's API server. */
export function outputsForAPI({ outputs, keys = [] }: ManagedToken['spec']['secret']): readonly string[] {
  const names = outputs.filter((output) => outputForms.get(output)?.isForAPI === true);
  return [...new Set([...names, ...keys.map(({ from }) => from).filter((from) => from === 'Kubeconfig')])];
}

/** Returns the labels that consumers of these outputs select by. */
export function outputLabels(outputs: readonly string[]): Readonly<Record<string, string>> {
  return Object.assign({}, ...outputs.map((output) => outputForms.get(output)?.labels));
}

/** Returns whether a label belongs to an output form, which the spec may have dropped. */
export function isOutputLabel(key: string): boolean {
  return [...outputForms.values()].some(({ labels = {} }) => Object.hasOwn(labels, key));
}

/** Returns the keys of outputs that hold the token in any encoding: those whose text differs for two tokens. */
export function tokenKeys(): readonly string[] {
  const [one, other] = ['one', 'other'].map((token) => [...outputForms.values()].map((form) => form.render(SAMPLE, token)));
  const differing = (one ?? []).flatMap((texts, index) => Object.keys(texts).filter((key) => texts[key] !== other?.[index]?.[key]));
  return [TOKEN_KEY, ...new Set(differing)];
}

/** Returns whether a key is one that an output uses for a value without the token, and that no key with the token may have. */
export function isTokenFree(key: string): boolean {
  return !tokenKeys().includes(key) && [...outputForms.values()].some(({ keys }) => Object.hasOwn(keys, key));
}

/** Returns the problem of an item of `spec.secret.keys`; undefined without one. */
export function keyProblem({ key, from }: Keys[number], outputs: readonly string[]): string | undefined {
  if (!SECRET_KEY.test(key) || key === '.' || key.startsWith('..')) return 'must be a valid key of a Secret';
  if (key === TOKEN_KEY || outputs.some((output) => Object.hasOwn(outputForms.get(output)?.keys ?? {}, key)))
    return `must not be ${TOKEN_KEY} or a key of the chosen outputs`;
  return isTokenSource(from) && isTokenFree(key) ? 'must not be a key that an output uses for another value' : undefined;
}

type Keys = NonNullable<ManagedToken['spec']['secret']['keys']>;

const SECRET_KEY = /^[-._a-zA-Z0-9]{1,253}$/;

const SAMPLE: OutputTarget = {
  outputs: [],
  cluster: 'cluster',
  server: 'https://cluster.example.com',
  caBundle: 'Q0E=',
  namespace: 'namespace',
  account: 'account',
};
