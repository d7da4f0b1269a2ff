// The data and the labels of a token's Secret, as the registered output forms render them.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { serverUrl } from '../../targets/policy/registration.ts';
import { type OutputTarget, outputForms, type SecretTexts } from './forms.ts';

/** Key of the token itself, which every Secret has. */
export const TOKEN_KEY = 'token';

/** Addresses and certificate authority that a token may be written next to. */
export interface OutputEndpoints {
  /** Addresses of the API server; the first one is for the network that Purser runs in. */
  readonly servers: readonly string[];
  /** Base64 of PEM; undefined where public certificate authorities issue the server's certificate. */
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

/** Renders all keys of a Secret. */
export function outputTexts(target: OutputTarget, token: string): SecretTexts {
  const texts = target.outputs.map((output) => outputForms.get(output)?.render(target, token));
  return Object.assign({}, ...texts, { [TOKEN_KEY]: token });
}

/** Returns the names of the outputs whose consumers send the token to the API server of the cluster. */
export function outputsForAPI(outputs: readonly string[]): readonly string[] {
  return outputs.filter((output) => outputForms.get(output)?.isForAPI === true);
}

/** Returns the labels that consumers of these outputs select by. */
export function outputLabels(outputs: readonly string[]): Readonly<Record<string, string>> {
  return Object.assign({}, ...outputs.map((output) => outputForms.get(output)?.labels));
}

/** Returns whether a label belongs to an output form, which the spec may have dropped. */
export function isOutputLabel(key: string): boolean {
  return [...outputForms.values()].some(({ labels = {} }) => Object.hasOwn(labels, key));
}

/** Returns the keys that hold the token in any encoding: those whose text differs for two tokens. */
export function tokenKeys(): readonly string[] {
  const [one, other] = ['one', 'other'].map((token) => [...outputForms.values()].map((form) => form.render(SAMPLE, token)));
  const differing = (one ?? []).flatMap((texts, index) => Object.keys(texts).filter((key) => texts[key] !== other?.[index]?.[key]));
  return [TOKEN_KEY, ...new Set(differing)];
}

const SAMPLE: OutputTarget = {
  outputs: [],
  cluster: 'cluster',
  server: 'https://cluster.example.com',
  caBundle: 'Q0E=',
  namespace: 'namespace',
  account: 'account',
};
