// The world that faults happen in: a hub, two targets, Purser, a fleet of tokens that rotate all the time, and the prober.

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
  /** Where the history goes. */
  readonly historyFile: string;
  /** Rotating tokens on each target. */
  readonly fleet: number;
}

export type TokenSpec = Readonly<Record<string, unknown>>;

const AUDIENCE = 'https://hub.test';
/** Rotates as early as Purser allows: after 60 to 90 s. */
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

  /** Who vouches for the façade. */
  get facadeAuthority(): string {
    return this.#authority.certificate;
  }

  get hub(): Place {
    return this.#places[0] as Place;
  }

  get targets(): readonly Place[] {
    return this.#places.slice(1);
  }

  /** All clusters, the hub first. */
  get places(): readonly Place[] {
    return this.#places;
  }

  /** The target, or the hub, whose name a cluster's name begins with. */
  target(clusterName: string): Place {
    return this.#places.find(({ name }) => clusterName.startsWith(name)) ?? (this.targets[0] as Place);
  }

  get one(): Place {
    return this.target('one');
  }

  get two(): Place {
    return this.target('two');
  }

  /** The process that was started last. */
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

  /** Ends all processes of Purser but those named. */
  async endPursers(...but: readonly Purser[]): Promise<void> {
    await Promise.all(this.pursers.filter((purser) => !but.includes(purser)).map((purser) => purser.stop()));
  }

  /** A new process leads at once, instead of waiting for the Lease of one that was killed. */
  async freeLease(): Promise<void> {
    await this.hub.api.delete(paths.lease);
  }

  /** Makes a ManagedToken, and the account that it is for. */
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

  /** Asks for a rotation now. */
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

  /** Status and reason of a condition of a ManagedToken. */
  async condition(name: string, type = 'Ready'): Promise<string> {
    return conditionOf(await this.token(name), type);
  }

  async clusterCondition(name: string, type = 'Ready'): Promise<string> {
    return conditionOf(await this.hub.api.get(paths.clusters(name)), type);
  }

  /** The names of all ManagedTokens, or of those on one cluster. */
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

  /** Waits for something; what does not come in time is a violation. Returns how long it took. */
  async expect(invariant: Invariant, what: string, limitMs: number, isSo: () => Promise<boolean>): Promise<number> {
    const startedAt = performance.now();
    while (!(await isSo().catch(notAnswered))) {
      if (performance.now() - startedAt > limitMs) {
        this.violation(invariant, `not within ${limitMs / 1_000} s: ${what}`);
        break;
      }
      await delay(100);
    }
    return performance.now() - startedAt;
  }

  /** Waits until a token other than this one is in a Secret. */
  renewed(name: string, before: string, limitMs = 60_000): Promise<number> {
    return this.expect('I10', `${name} has a new token`, limitMs, async () => ![before, ''].includes(await this.tokenText(name)));
  }

  /** Lets the fault go on for a while. */
  pass(ms: number): Promise<void> {
    return delay(ms);
  }

  /** Ends all faults of the wires. */
  async heal(): Promise<void> {
    for (const { proxy } of this.#places) await proxy.heal();
  }

  /** What keeps the fleet from being well: tokens that are missing, failing, late or not what was asked for. */
  async unwell(): Promise<readonly string[]> {
    const tokens = await this.hub.api.list(paths.tokens(TEAM));
    const found = await Promise.all(tokens.map(async (token) => ({ token, secret: await this.secret(token.metadata.name) })));
    return found.flatMap(({ token, secret }) => whyUnwell(token, secret));
  }

  /** Waits until all tokens are well. */
  settled(limitMs: number): Promise<number> {
    let unwell: readonly string[] = [];
    const isSettled = async () => (unwell = await this.unwell()).length === 0;
    return this.expect('I10', 'all tokens are well', limitMs, isSettled).then((ms) => {
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

/** A hub that does not answer now may do so later. */
function notAnswered(error: unknown): false {
  if (error instanceof TypeError) throw error;
  return false;
}

/** How late a renewal may be before it counts. */
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
    [annotations[Annotation.rotate] !== done[Annotation.rotateRequest], 'rotation was asked for'],
    [annotations[Annotation.revoke] !== done[Annotation.revokeRequest], 'revocation was asked for'],
    [token.status?.observedGeneration !== generation, 'spec not looked at'],
  ];
  const faults = checks.filter(([isUnwell]) => isUnwell).map(([, why]) => why);
  return faults.length === 0 ? [] : [`${name}: ${faults.join(', ')}`];
}
