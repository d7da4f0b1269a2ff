// Environment of the fault bench: a hub, two target clusters, Purser, tokens that rotate continuously, and the prober.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Annotation } from '../../src/api/names.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { removeOnExit } from '../support/processes.ts';
import { createRandom } from '../support/random.ts';
import { conditionOf, type KubeObject, paths } from './api.ts';
import { Bearers } from './bearers.ts';
import { type BenchCluster, type Records, startCluster, stopCluster } from './bench-cluster.ts';
import { History, type Invariant, ofType } from './history.ts';
import { Prober, textOf } from './prober.ts';
import { Purser, type PurserOptions } from './purser.ts';
import { buildServiceAccount, DEPLOY, GUEST, register, seedHub, seedTarget, setPermission, TEAM, writeKubeconfig } from './seed.ts';

export interface BenchOptions {
  readonly seed: number;
  /** Path of the history file. */
  readonly historyFile: string;
  /** Number of rotating tokens on each target. */
  readonly fleet: number;
}

export type TokenSpec = Readonly<Record<string, unknown>>;

const AUDIENCE = 'https://hub.test';
/** Shortest rotation that Purser allows: after 60 to 90 s. */
const SHORT = { expirationSeconds: 600, rotation: { renewBefore: '90%', suspend: false } };

export class Bench {
  readonly history: History;
  readonly bearers: Bearers;
  readonly prober: Prober;
  readonly random: () => number;
  readonly pursers: Purser[] = [];
  readonly folder: string;
  readonly historyFile: string;
  readonly #clusters: readonly BenchCluster[];
  readonly #cancelRemoval: () => void;
  readonly #authority = createAuthority(Date.now());
  #kubeconfig = '';
  #requests = 0;

  private constructor(folder: string, options: BenchOptions, { history, bearers }: Records, clusters: readonly BenchCluster[]) {
    this.folder = folder;
    this.historyFile = options.historyFile;
    this.#cancelRemoval = removeOnExit(folder);
    this.#clusters = clusters;
    this.history = history;
    this.bearers = bearers;
    this.random = createRandom(options.seed);
    this.prober = new Prober({ history, hub: this.hub, targetOf: (name) => this.target(name), pursers: () => this.pursers });
  }

  static async start(options: BenchOptions): Promise<Bench> {
    const folder = await mkdtemp(join(tmpdir(), 'purser-faults-'));
    const history = new History(options.historyFile);
    const records = { history, bearers: new Bearers(history) };
    const clusters = await Promise.all([
      startCluster('hub', records, { controllers: true }),
      startCluster('one', records),
      startCluster('two', records, { flags: ['--service-account-max-token-expiration=2h'] }),
    ]);
    const bench = new Bench(folder, options, records, clusters);
    await bench.#seed(options.fleet);
    return bench;
  }

  /** CA certificate of the façade, as PEM. */
  get facadeAuthority(): string {
    return this.#authority.certificate;
  }

  get hub(): BenchCluster {
    return this.#clusters[0] as BenchCluster;
  }

  get targets(): readonly BenchCluster[] {
    return this.#clusters.slice(1);
  }

  /** All clusters; the hub is first. */
  get clusters(): readonly BenchCluster[] {
    return this.#clusters;
  }

  /** Returns the cluster whose name is a prefix of a Cluster's name, or the first target. */
  target(clusterName: string): BenchCluster {
    return this.#clusters.find(({ name }) => clusterName.startsWith(name)) ?? (this.targets[0] as BenchCluster);
  }

  get one(): BenchCluster {
    return this.target('one');
  }

  get two(): BenchCluster {
    return this.target('two');
  }

  /** The most recently started process of Purser. */
  get purser(): Purser {
    return this.pursers.at(-1) as Purser;
  }

  async startPurser(options: Partial<PurserOptions> = {}): Promise<Purser> {
    const [certificate, key] = [join(this.folder, 'facade.crt'), join(this.folder, 'facade.key')];
    const args = ['--facade-tls-cert', certificate, '--facade-tls-key', key, ...(options.args ?? [])];
    const purser = await Purser.start({ kubeconfig: this.#kubeconfig, folder: this.folder, history: this.history, ...options, args });
    this.pursers.push(purser);
    return purser;
  }

  /** Stops all processes of Purser except the given ones. */
  async stopPursers(...except: readonly Purser[]): Promise<void> {
    await Promise.all(this.pursers.filter((purser) => !except.includes(purser)).map((purser) => purser.stop()));
  }

  /** Deletes the Lease, so that a new process leads immediately after the leader was killed. */
  async deleteLease(): Promise<void> {
    await this.hub.api.delete(paths.lease);
  }

  /** Creates a ManagedToken and its service account on the target. */
  async createToken(name: string, cluster: string, spec: TokenSpec = {}): Promise<KubeObject> {
    await this.target(cluster).api.apply(paths.serviceAccounts(DEPLOY, name), buildServiceAccount(DEPLOY, name));
    this.recordCause(name, 'created');
    if (spec['requesterServiceAccountName'] !== GUEST) this.history.add({ type: 'grant', token: name, allowed: true });
    const metadata = { name, namespace: TEAM };
    const fullSpec = { clusterName: cluster, serviceAccount: { namespace: DEPLOY, name }, audiences: [AUDIENCE], ...SHORT, ...spec };
    const object = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', metadata, spec: fullSpec };
    return await this.hub.api.create(paths.tokens(TEAM), object);
  }

  async deleteToken(name: string): Promise<void> {
    this.recordExcuse(name, ['I12', 'I1'], 120_000, 'deleted');
    await this.hub.api.delete(paths.tokens(TEAM, name));
  }

  /** Requests an immediate rotation of ManagedTokens. */
  async rotate(...names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => this.annotate(name, Annotation.rotate)));
  }

  async annotate(name: string, annotation: string): Promise<void> {
    this.#requests += 1;
    this.recordCause(name, annotation);
    await this.hub.api.patch(paths.tokens(TEAM, name), { metadata: { annotations: { [annotation]: `request-${this.#requests}` } } });
  }

  getToken(name: string): Promise<KubeObject> {
    return this.hub.api.get(paths.tokens(TEAM, name));
  }

  findSecret(name: string): Promise<KubeObject | undefined> {
    return this.hub.api.find(paths.secrets(TEAM, name));
  }

  async readToken(name: string): Promise<string> {
    return textOf(await this.findSecret(name));
  }

  /** Returns the status and reason of a condition of a ManagedToken. */
  async readCondition(name: string, type = 'Ready'): Promise<string> {
    return conditionOf(await this.getToken(name), type);
  }

  async readClusterCondition(name: string, type = 'Ready'): Promise<string> {
    return conditionOf(await this.hub.api.get(paths.clusters(name)), type);
  }

  /** Returns the names of all ManagedTokens, or of those for one cluster. */
  async listTokenNames(cluster = ''): Promise<readonly string[]> {
    const tokens = await this.hub.api.list(paths.tokens(TEAM));
    return tokens.filter(({ spec }) => cluster === '' || spec?.['clusterName'] === cluster).map(({ metadata }) => metadata.name);
  }

  recordCause(token: string, reason: string): void {
    this.history.add({ type: 'cause', token, reason });
  }

  recordExcuse(token: string, invariants: readonly Invariant[], ms: number, reason: string): void {
    this.history.add({ type: 'excuse', token, invariants, untilAt: Date.now() + ms, reason });
  }

  /** Returns the number of requests at the proxies after `since` whose path matches. */
  countRequests(since: number, matches: (path: string) => boolean): number {
    return ofType(this.history.entries, 'request').filter(({ at, path }) => at > since && matches(path)).length;
  }

  recordViolation(invariant: Invariant, message: string): void {
    this.history.add({ type: 'violation', invariant, message });
  }

  /** Waits until a condition holds, and records a violation at the limit. Returns the waiting time in milliseconds. */
  async expect(invariant: Invariant, description: string, limitMs: number, isMet: () => Promise<boolean>): Promise<number> {
    const startedAt = performance.now();
    while (!(await isMet().catch(toUnmet))) {
      if (performance.now() - startedAt > limitMs) {
        this.recordViolation(invariant, `${description}: not within ${limitMs / 1_000} s`);
        break;
      }
      await delay(100);
    }
    return performance.now() - startedAt;
  }

  /** Waits until the Secret contains a token other than `before`. */
  waitForRenewal(name: string, before: string, limitMs = 60_000): Promise<number> {
    return this.expect('I10', `${name} has a new token`, limitMs, async () => ![before, ''].includes(await this.readToken(name)));
  }

  /** Waits while a fault lasts. */
  wait(ms: number): Promise<void> {
    return delay(ms);
  }

  /** Ends all faults of the proxies. */
  async heal(): Promise<void> {
    for (const { proxy } of this.#clusters) await proxy.heal();
  }

  /** Returns a description of each token that is missing, failing, late or behind its spec. */
  async listProblems(): Promise<readonly string[]> {
    const tokens = await this.hub.api.list(paths.tokens(TEAM));
    const found = await Promise.all(tokens.map(async (token) => ({ token, secret: await this.findSecret(token.metadata.name) })));
    return found.flatMap(({ token, secret }) => findProblems(token, secret));
  }

  /** Waits until all tokens are healthy. */
  waitUntilHealthy(limitMs: number): Promise<number> {
    let problems: readonly string[] = [];
    const areHealthy = async () => (problems = await this.listProblems()).length === 0;
    return this.expect('I10', 'all tokens are healthy', limitMs, areHealthy).then((ms) => {
      if (problems.length > 0) this.recordViolation('I10', problems.join('; '));
      return ms;
    });
  }

  async stop(): Promise<void> {
    await this.prober.stop();
    await Promise.all(this.pursers.map((purser) => purser.kill()));
    await Promise.all(this.#clusters.map(stopCluster));
    await this.history.close();
    await rm(this.folder, { recursive: true, force: true });
    this.#cancelRemoval();
  }

  async #seed(fleet: number): Promise<void> {
    const facade = issueServerCertificate(this.#authority, LOOPBACK_NAMES, Date.now());
    await writeFile(join(this.folder, 'facade.crt'), facade.certificate);
    await writeFile(join(this.folder, 'facade.key'), facade.key, { mode: 0o600 });
    await seedHub(this.hub);
    for (const target of this.targets) {
      await seedTarget(target);
      await register(this.hub, target.name, target);
    }
    await setPermission(this.hub, 'default', true);
    this.#kubeconfig = await writeKubeconfig(this.hub, this.folder);
    for (const { name } of this.targets) {
      for (let n = 1; n <= fleet; n += 1) await this.createToken(`${name}-${n}`, name, n === 1 ? { revocation: 'BoundSecret' } : {});
    }
  }
}

/** Treats a failed request as an unmet condition; programming errors still throw. */
function toUnmet(error: unknown): false {
  if (error instanceof TypeError) throw error;
  return false;
}

/** Tolerated delay of a renewal, in milliseconds. */
const LATE_MS = 3_000;

function findProblems(token: KubeObject, secret: KubeObject | undefined): readonly string[] {
  const { name, annotations = {}, generation } = token.metadata;
  const [ready, failing] = [conditionOf(token, 'Ready'), conditionOf(token, 'RotationFailing')];
  const recorded = secret?.metadata.annotations ?? {};
  const lateMs = Date.now() - (Date.parse(recorded[Annotation.renewAt] ?? '') || 0);
  const checks: readonly (readonly [isProblem: boolean, reason: string])[] = [
    [!ready.startsWith('True'), `Ready=${ready}`],
    [failing.startsWith('True'), `RotationFailing=${failing}`],
    [textOf(secret) === '', 'no token'],
    [lateMs > LATE_MS, `late by ${Math.round(lateMs / 1_000)} s`],
    [annotations[Annotation.rotate] !== recorded[Annotation.rotateRequest], 'requested rotation is pending'],
    [annotations[Annotation.revoke] !== recorded[Annotation.revokeRequest], 'requested revocation is pending'],
    [token.status?.observedGeneration !== generation, 'spec is not observed'],
  ];
  const problems = checks.filter(([isProblem]) => isProblem).map(([, reason]) => reason);
  return problems.length === 0 ? [] : [`${name}: ${problems.join(', ')}`];
}
