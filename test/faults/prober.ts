// Observer that bypasses all proxies: reads every ManagedToken and Secret from the hub, verifies every token with a TokenReview
// on its target, and records the results in the history.

import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Annotation, Label } from '../../src/api/names.ts';
import { conditionOf, type KubeObject, paths } from './api.ts';
import type { BenchCluster } from './bench-cluster.ts';
import { digestOf } from './digest.ts';
import type { History, Sample, SecretSample, Verdict } from './history.ts';
import type { Purser } from './purser.ts';
import { UNPROBED } from './tenants/names.ts';
import { decodeClaims } from './tenants/token-text.ts';

export interface ProberOptions {
  readonly history: History;
  readonly hub: BenchCluster;
  /** Returns the cluster that a Cluster name refers to. */
  readonly targetOf: (clusterName: string) => BenchCluster;
  readonly pursers: () => readonly Purser[];
}

const SAMPLE_EVERY_MS = 700;
const USAGE_EVERY_MS = 5_000;

/** Samples all tokens until it is stopped. */
export class Prober {
  /** All tokens in Secrets so far, for the search for leaks; never written to a file. */
  readonly seenTokens = new Set<string>();
  readonly #options: ProberOptions;
  /** Last known ManagedTokens, sampled while the hub does not respond. */
  #known: readonly Pair[] = [];
  #isStopped = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: ProberOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = Promise.all([this.#sampleTokens(), this.#sampleUsage()]);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #sampleTokens(): Promise<void> {
    while (!this.#isStopped) {
      const [startedAt, pairs] = [performance.now(), await this.#readPairs()];
      await Promise.all((pairs ?? this.#known).map((pair) => this.#sample(pair, pairs !== undefined)));
      this.#known = pairs ?? this.#known;
      await delay(Math.max(50, SAMPLE_EVERY_MS - (performance.now() - startedAt)));
    }
  }

  /** Returns every ManagedToken with its Secret, or undefined while the hub does not respond. */
  async #readPairs(): Promise<readonly Pair[] | undefined> {
    const { api } = this.#options.hub;
    try {
      const tokens = await api.list('/apis/tokens.purser.dev/v1alpha1/managedtokens');
      const secrets = await api.list(`/api/v1/secrets?labelSelector=${Label.managedBy}`);
      const byKey = new Map(secrets.map((secret) => [keyOf(secret), secret]));
      return tokens
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined && isProbed(metadata.namespace))
        .map((token) => ({ token, secret: byKey.get(keyOf(token)) }));
    } catch {
      return undefined;
    }
  }

  async #sample({ token, secret }: Pair, isFresh: boolean): Promise<void> {
    const text = textOf(secret);
    const verdict = await this.#review(token, text);
    // The token may have been rotated between the two reads; only an unchanged Secret proves a rejection.
    if (verdict === 'rejected' && isFresh && !(await this.#isUnchanged({ token, secret }))) return;
    const sample = toTokenSample(token);
    const ready = isFresh ? sample.ready : 'unknown';
    this.#options.history.add({ ...sample, ready, verdict, ...(secret !== undefined && { secret: toSecretSample(secret, text) }) });
  }

  async #review(token: KubeObject, text: string): Promise<Verdict> {
    if (text === '') return 'none';
    this.seenTokens.add(text);
    const { clusterName, serviceAccount, audiences } = token.spec as unknown as TokenSpec;
    try {
      const { status } = await this.#options.targetOf(clusterName).api.create(paths.reviews, { spec: { token: text, audiences } });
      const name = `system:serviceaccount:${serviceAccount.namespace}:${serviceAccount.name}`;
      return status?.authenticated === true && status.user?.username === name ? 'accepted' : 'rejected';
    } catch {
      return 'unreachable';
    }
  }

  async #isUnchanged({ token, secret }: Pair): Promise<boolean> {
    const { api } = this.#options.hub;
    const { namespace = '', name, resourceVersion } = token.metadata;
    const now = await Promise.all([api.find(paths.tokens(namespace, name)), api.find(paths.secrets(namespace, name))]).catch(() => []);
    return now[0]?.metadata.resourceVersion === resourceVersion && now[1]?.metadata.resourceVersion === secret?.metadata.resourceVersion;
  }

  async #sampleUsage(): Promise<void> {
    while (!this.#isStopped) {
      for (const { pid, isRunning } of this.#options.pursers()) if (isRunning) await this.#recordUsage(pid).catch(() => {});
      for (let waited = 0; waited < USAGE_EVERY_MS && !this.#isStopped; waited += 250) await delay(250);
    }
  }

  async #recordUsage(pid: number): Promise<void> {
    const [status, handles] = await Promise.all([readFile(`/proc/${pid}/status`, 'utf8'), readdir(`/proc/${pid}/fd`)]);
    const rssMegabytes = Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1_024);
    this.#options.history.add({ type: 'usage', pid, rssMegabytes, handles: handles.length });
  }
}

interface Pair {
  readonly token: KubeObject;
  readonly secret: KubeObject | undefined;
}

interface TokenSpec {
  readonly clusterName: string;
  readonly serviceAccount: { readonly namespace: string; readonly name: string };
  readonly audiences: readonly string[];
}

function isProbed(namespace = ''): boolean {
  return !UNPROBED.some((prefix) => namespace.startsWith(prefix));
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Returns the token in a Secret, or an empty string if there is none. */
export function textOf(secret: KubeObject | undefined): string {
  return Buffer.from(secret?.data?.['token'] ?? '', 'base64').toString();
}

function toTokenSample(token: KubeObject): Omit<Sample, 'verdict' | 'secret'> {
  const { metadata, spec, status } = token;
  const [ready = '', reason = ''] = conditionOf(token, 'Ready').split('/');
  return {
    type: 'sample',
    token: metadata.name,
    uid: metadata.uid ?? '',
    cluster: String(spec?.['clusterName']),
    generation: metadata.generation ?? 0,
    observedGeneration: status?.observedGeneration ?? 0,
    ready,
    reason,
    readySince: status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '',
    failing: conditionOf(token, 'RotationFailing'),
  };
}

function toSecretSample({ metadata }: KubeObject, text: string): SecretSample {
  const { exp = 0, iat = 0 } = decodeClaims(text);
  return {
    uid: metadata.uid ?? '',
    ...(text !== '' && { digest: digestOf(text) }),
    expiresAt: exp * 1_000,
    issuedAt: iat * 1_000,
    renewAt: Date.parse(metadata.annotations?.[Annotation.renewAt] ?? '') || 0,
  };
}
