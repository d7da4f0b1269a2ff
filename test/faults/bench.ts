// The environment for faults: a hub, two target clusters, Purser, tokens that rotate continuously, and the prober.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Annotation } from '../../src/api/names.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { removeAtOurEnd } from '../support/processes.ts';
import { conditionOf, type KubeObject, paths } from './api.ts';
import { type Place, startPlace, stopPlace } from './bench-cluster.ts';
import { History, type Invariant } from './history.ts';
import { Prober, textOf } from './prober.ts';
import { Purser, type PurserOptions } from './purser.ts';
import { seeded } from './random.ts';
import { accountOf, allow, DEPLOY, furnishHub, furnishTarget, GUEST, register, TEAM, writeKubeconfig } from './seed.ts';

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
  readonly prober: Prober;
  readonly random: () => number;
  readonly pursers: Purser[] = [];
  readonly folder: string;
  readonly #places: readonly Place[];
  readonly #keepFolder: () => void;
  readonly #authority = createAuthority(Date.now());
  #kubeconfig = '';
  #requests = 0;

  private constructor(folder: string, options: BenchOptions, history: History, places: readonly Place[]) {
    this.folder = folder;
    this.#keepFolder = removeAtOurEnd(folder);
    this.#places = places;
    this.history = history;
    this.random = seeded(options.seed);
    this.prober = new Prober({ history, hub: this.hub, targetOf: (name) => this.target(name), pursers: () => this.pursers });
  }

  static async start(options: BenchOptions): Promise<Bench> {
    const folder = await mkdtemp(join(tmpdir(), 'purser-faults-'));
    const history = new History(options.historyFile);
    const places = await Promise.all([
      startPlace('hub', history, { controllers: true }),
      startPlace('one', history),
      startPlace('two', history, { flags: ['--service-account-max-token-expiration=2h'] }),
    ]);
    const bench = new Bench(folder, options, history, places);
    await bench.#furnish(options.fleet);
    return bench;
  }

  /** CA certificate of the façade, as PEM. */
  get facadeAuthority(): string {
    return this.#authority.certificate;
  }

  get hub(): Place {
    return this.#places[0] as Place;
  }

  get targets(): readonly Place[] {
    return this.#places.slice(1);
  }

  /** All clusters; the hub is first. */
  get places(): readonly Place[] {
    return this.#places;
  }

  /** Returns the cluster whose name is a prefix of a Cluster's name, or the first target. */
  target(clusterName: string): Place {
    return this.#places.find(({ name }) => clusterName.startsWith(name)) ?? (this.targets[0] as Place);
  }

  get one(): Place {
    return this.target('one');
  }

  get two(): Place {
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
  async endPursers(...but: readonly Purser[]): Promise<void> {
    await Promise.all(this.pursers.filter((purser) => !but.includes(purser)).map((purser) => purser.stop()));
  }

  /** Deletes the Lease, so that a new process leads at once after the leader was killed. */
  async freeLease(): Promise<void> {
    await this.hub.api.delete(paths.lease);
  }

  /** Creates a ManagedToken and its service account on the target. */
  async createToken(name: string, cluster: string, spec: TokenSpec = {}): Promise<KubeObject> {
    await this.target(cluster).api.apply(paths.accounts(DEPLOY, name), accountOf(DEPLOY, name));
    this.cause(name, 'created');
    if (spec['requesterServiceAccountName'] !== GUEST) this.history.add({ type: 'grant', token: name, allowed: true });
    const metadata = { name, namespace: TEAM };
    const whole = { clusterName: cluster, serviceAccount: { namespace: DEPLOY, name }, audiences: [AUDIENCE], ...SHORT, ...spec };
    const object = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', metadata, spec: whole };
    return await this.hub.api.create(paths.tokens(TEAM), object);
  }

  async deleteToken(name: string): Promise<void> {
    this.excuse(name, ['I12', 'I1'], 120_000, 'deleted');
    await this.hub.api.delete(paths.tokens(TEAM, name));
  }

  /** Requests an immediate rotation of ManagedTokens. */
  async rotate(...names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => this.annotate(name, Annotation.rotate)));
  }

  async annotate(name: string, annotation: string): Promise<void> {
    this.#requests += 1;
    this.cause(name, annotation);
    await this.hub.api.patch(paths.tokens(TEAM, name), { metadata: { annotations: { [annotation]: `request-${this.#requests}` } } });
  }

  token(name: string): Promise<KubeObject> {
    return this.hub.api.get(paths.tokens(TEAM, name));
  }

  secret(name: string): Promise<KubeObject | undefined> {
    return this.hub.api.find(paths.secrets(TEAM, name));
  }

  async tokenText(name: string): Promise<string> {
    return textOf(await this.secret(name));
  }

  /** Returns status and reason of a condition of a ManagedToken. */
  async condition(name: string, type = 'Ready'): Promise<string> {
    return conditionOf(await this.token(name), type);
  }

  async clusterCondition(name: string, type = 'Ready'): Promise<string> {
    return conditionOf(await this.hub.api.get(paths.clusters(name)), type);
  }

  /** Returns the names of all ManagedTokens, or of those for one cluster. */
  async tokens(cluster = ''): Promise<readonly string[]> {
    const tokens = await this.hub.api.list(paths.tokens(TEAM));
    return tokens.filter(({ spec }) => cluster === '' || spec?.['clusterName'] === cluster).map(({ metadata }) => metadata.name);
  }

  cause(token: string, why: string): void {
    this.history.add({ type: 'cause', token, why });
  }

  excuse(token: string, invariants: readonly Invariant[], ms: number, why: string): void {
    this.history.add({ type: 'excuse', token, invariants, untilAt: Date.now() + ms, why });
  }

  violation(invariant: Invariant, message: string): void {
    this.history.add({ type: 'violation', invariant, message });
  }

  /** Waits until a condition holds, and records a violation at the limit. Returns the waiting time in milliseconds. */
  async expect(invariant: Invariant, what: string, limitMs: number, isSo: () => Promise<boolean>): Promise<number> {
    const startedAt = performance.now();
    while (!(await isSo().catch(notAnswered))) {
      if (performance.now() - startedAt > limitMs) {
        this.violation(invariant, `${what}: not within ${limitMs / 1_000} s`);
        break;
      }
      await delay(100);
    }
    return performance.now() - startedAt;
  }

  /** Waits until the Secret contains a token other than `before`. */
  renewed(name: string, before: string, limitMs = 60_000): Promise<number> {
    return this.expect('I10', `${name} has a new token`, limitMs, async () => ![before, ''].includes(await this.tokenText(name)));
  }

  /** Waits while a fault lasts. */
  pass(ms: number): Promise<void> {
    return delay(ms);
  }

  /** Ends all faults of the proxies. */
  async heal(): Promise<void> {
    for (const { proxy } of this.#places) await proxy.heal();
  }

  /** Returns a description of each token that is missing, failing, late or behind its spec. */
  async unwell(): Promise<readonly string[]> {
    const tokens = await this.hub.api.list(paths.tokens(TEAM));
    const found = await Promise.all(tokens.map(async (token) => ({ token, secret: await this.secret(token.metadata.name) })));
    return found.flatMap(({ token, secret }) => whyUnwell(token, secret));
  }

  /** Waits until all tokens are healthy. */
  settled(limitMs: number): Promise<number> {
    let unwell: readonly string[] = [];
    const isSettled = async () => (unwell = await this.unwell()).length === 0;
    return this.expect('I10', 'all tokens are healthy', limitMs, isSettled).then((ms) => {
      if (unwell.length > 0) this.violation('I10', unwell.join('; '));
      return ms;
    });
  }

  async stop(): Promise<void> {
    await this.prober.stop();
    await Promise.all(this.pursers.map((purser) => purser.kill()));
    await Promise.all(this.#places.map(stopPlace));
    await this.history.close();
    await rm(this.folder, { recursive: true, force: true });
    this.#keepFolder();
  }

  async #furnish(fleet: number): Promise<void> {
    const facade = issueServerCertificate(this.#authority, LOOPBACK_NAMES, Date.now());
    await writeFile(join(this.folder, 'facade.crt'), facade.certificate);
    await writeFile(join(this.folder, 'facade.key'), facade.key, { mode: 0o600 });
    await furnishHub(this.hub);
    for (const target of this.targets) {
      await furnishTarget(target);
      await register(this.hub, target.name, target);
    }
    await allow(this.hub, 'default', true);
    this.#kubeconfig = await writeKubeconfig(this.hub, this.folder);
    for (const { name } of this.targets) {
      for (let n = 1; n <= fleet; n += 1) await this.createToken(`${name}-${n}`, name, n === 1 ? { revocation: 'BoundSecret' } : {});
    }
  }
}

/** Treats a failed request as an unmet condition; programming errors still throw. */
function notAnswered(error: unknown): false {
  if (error instanceof TypeError) throw error;
  return false;
}

/** Tolerated delay of a renewal, in milliseconds. */
const LATE_MS = 3_000;

function whyUnwell(token: KubeObject, secret: KubeObject | undefined): readonly string[] {
  const { name, annotations = {}, generation } = token.metadata;
  const [ready, failing] = [conditionOf(token, 'Ready'), conditionOf(token, 'RotationFailing')];
  const done = secret?.metadata.annotations ?? {};
  const lateMs = Date.now() - (Date.parse(done[Annotation.renewAt] ?? '') || 0);
  const checks: readonly (readonly [isUnwell: boolean, why: string])[] = [
    [!ready.startsWith('True'), `Ready=${ready}`],
    [failing.startsWith('True'), `RotationFailing=${failing}`],
    [textOf(secret) === '', 'no token'],
    [lateMs > LATE_MS, `late by ${Math.round(lateMs / 1_000)} s`],
    [annotations[Annotation.rotate] !== done[Annotation.rotateRequest], 'requested rotation is pending'],
    [annotations[Annotation.revoke] !== done[Annotation.revokeRequest], 'requested revocation is pending'],
    [token.status?.observedGeneration !== generation, 'spec is not observed'],
  ];
  const faults = checks.filter(([isUnwell]) => isUnwell).map(([, why]) => why);
  return faults.length === 0 ? [] : [`${name}: ${faults.join(', ')}`];
}
