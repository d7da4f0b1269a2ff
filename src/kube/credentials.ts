// Who we are to an API server, now: tokens and certificates change under us, in files and by expiry.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Cluster, User } from '@kubernetes/client-node';
import type { Clock } from '../std/clock.ts';
import { defined } from '../std/defined.ts';
import { type Env, type ExecConfig, type ExecCredential, runExecPlugin } from './exec-credential.ts';

/** What one request carries, and what its connection must show and trust. */
export interface Identity {
  readonly headers: Readonly<Record<string, string>>;
  /** The bearer token or password among the headers, so that it can be kept out of messages. */
  readonly secret?: string;
  readonly tls: TlsIdentity;
  /** Equal for equal `tls`. */
  readonly tlsDigest: string;
  /** PEM of the certificate authorities that the server is verified with; undefined for those of the system. */
  readonly ca?: string | undefined;
}

/** What all connections of one identity share: made once, because making it costs more than a request. */
export interface TlsIdentity {
  readonly secureContext: SecureContext;
}

export interface CredentialsOptions {
  readonly clock: Clock;
  /** How long files are believed before they are read again. */
  readonly rereadMs: number;
  /** Environment of credential plugins; without it, none is run. */
  readonly execEnv?: Env;
}

/** Keeps the identity of one user at one cluster fresh. */
export class Credentials {
  readonly #cluster: Cluster;
  readonly #user: User;
  readonly #options: CredentialsOptions;
  /** Whether nothing of it can change. */
  readonly #isFixed: boolean;
  /** `loadedAt` is on the monotonic clock. */
  #current: { readonly identity: Identity; readonly loadedAt: number } | undefined;
  #loading: Promise<Identity> | undefined;
  #exec: ExecCredential | undefined;

  constructor(cluster: Cluster, user: User, options: CredentialsOptions) {
    this.#cluster = cluster;
    this.#user = user;
    this.#options = options;
    this.#isFixed = ![cluster.caFile, user.certFile, user.keyFile, tokenFileOf(user), user.exec].some(Boolean);
    rejectUnsupported(user, options);
  }

  /**
   * The identity to use now. `refused` says that the last one was answered with 401: then it is renewed at once.
   * While a file cannot be read or a certificate does not fit its key (both happen in the middle of a rotation),
   * the identity that worked before stays.
   */
  identity(refused = false): Promise<Identity> {
    const known = this.#fresh(refused);
    if (known !== undefined) return Promise.resolve(known);
    this.#loading ??= this.#load(refused).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  /** The identity to use now, where nothing has to be read for it. */
  get fresh(): Identity | undefined {
    return this.#fresh(false);
  }

  /** PEM of the certificate authorities as they were last read; undefined before the first request and for those of the system. */
  get ca(): string | undefined {
    return this.#current?.identity.ca;
  }

  #fresh(refused: boolean): Identity | undefined {
    return this.#current !== undefined && this.#isFresh(this.#current.loadedAt, refused) ? this.#current.identity : undefined;
  }

  #isFresh(loadedAt: number, refused: boolean): boolean {
    const { clock, rereadMs } = this.#options;
    if (this.#isFixed) return true;
    return !isExpired(this.#exec, clock.now()) && clock.monotonic() - loadedAt < (refused ? REFUSED_REREAD_MS : rereadMs);
  }

  async #load(refused: boolean): Promise<Identity> {
    const loadedAt = this.#options.clock.monotonic();
    try {
      this.#current = { identity: await this.#read(refused), loadedAt };
    } catch (cause) {
      if (this.#current === undefined) throw new Error(`no credentials for ${this.#cluster.server}: ${reason(cause)}`, { cause });
      this.#current = { identity: this.#current.identity, loadedAt };
    }
    return this.#current.identity;
  }

  async #read(refused: boolean): Promise<Identity> {
    const user = this.#user;
    await this.#runExec(refused);
    const [ca, cert, key, token] = await Promise.all([
      fileOrData(this.#cluster.caFile, this.#cluster.caData),
      this.#exec?.clientCertificateData ?? fileOrData(user.certFile, user.certData),
      this.#exec?.clientKeyData ?? fileOrData(user.keyFile, user.keyData),
      this.#exec?.token ?? tokenOf(user),
    ]);
    return { ca, ...authorization(user, token), ...this.#tls(defined({ ca, cert, key })) };
  }

  /** Throws for a key that does not belong to its certificate. */
  #tls(material: { readonly ca?: string; readonly cert?: string; readonly key?: string }): Pick<Identity, 'tls' | 'tlsDigest'> {
    const tlsDigest = createHash('sha256').update(JSON.stringify(material)).digest('hex');
    const known = this.#current?.identity;
    return known?.tlsDigest === tlsDigest
      ? { tls: known.tls, tlsDigest }
      : { tls: { secureContext: createSecureContext(material) }, tlsDigest };
  }

  async #runExec(refused: boolean): Promise<void> {
    const { clock, execEnv = {} } = this.#options;
    const exec: ExecConfig | null | undefined = this.#user.exec;
    if (!exec || (this.#exec !== undefined && !refused && !isExpired(this.#exec, clock.now()))) return;
    this.#exec = await runExecPlugin(exec, this.#cluster, execEnv);
  }
}

/** A refused identity is not renewed again within this time, or a server that refuses everything would be asked twice each time. */
const REFUSED_REREAD_MS = 1_000;
/** Credentials are renewed this long before they end, so that a request does not arrive with one that has. */
const EXPIRY_MARGIN_MS = 10_000;

function isExpired(credential: ExecCredential | undefined, now: number): boolean {
  return credential?.expiresAt !== undefined && now >= credential.expiresAt - EXPIRY_MARGIN_MS;
}

function rejectUnsupported(user: User, options: CredentialsOptions): void {
  if (user.exec && options.execEnv === undefined) throw new Error(`user ${user.name}: credential plugins are not allowed here`);
  if (user.authProvider && tokenFileOf(user) === undefined) {
    throw new Error(`user ${user.name}: auth-provider ${String(user.authProvider.name)} is not supported; use exec`);
  }
}

function authorization(user: User, token: string | undefined): Pick<Identity, 'headers' | 'secret'> {
  const impersonated = user.impersonateUser ? { 'impersonate-user': user.impersonateUser } : {};
  if (token) return { headers: { ...impersonated, authorization: `Bearer ${token}` }, secret: token };
  if (!user.username) return { headers: impersonated };
  const pair = Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64');
  return { headers: { ...impersonated, authorization: `Basic ${pair}` }, secret: pair };
}

async function tokenOf(user: User): Promise<string | undefined> {
  const file = tokenFileOf(user);
  if (file === undefined) return user.token;
  const token = (await readFile(file, 'utf8')).trim();
  if (token === '') throw new Error(`${file} is empty`);
  return token;
}

function tokenFileOf(user: User): string | undefined {
  const file: unknown = user.authProvider?.config?.tokenFile;
  return typeof file === 'string' && file !== '' ? file : undefined;
}

async function fileOrData(file: string | undefined | null, data: string | undefined | null): Promise<string | undefined> {
  if (data) return Buffer.from(data, 'base64').toString('utf8');
  return file ? await readFile(file, 'utf8') : undefined;
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
