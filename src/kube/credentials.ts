// Credentials for an API server, loaded again at intervals, before they expire, and after a 401.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Cluster, User } from '@kubernetes/client-node';
import { BoundedCache } from '../std/bounded-cache.ts';
import type { Clock } from '../std/clock.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import type { Sensitive } from '../std/sensitive.ts';
import { type Env, type ExecConfig, type ExecCredential, runExecPlugin } from './exec-credential.ts';

/** Headers of a request and TLS settings of its connection. */
export interface Identity {
  readonly headers: Readonly<Record<string, string>>;
  /** Bearer token, or encoded user name and password, in the headers; undefined if there is none. Purser redacts it in error responses. */
  readonly secret?: string;
  readonly tls: TlsIdentity;
  /** Digest of the certificates and the key in `tls`. */
  readonly tlsDigest: string;
  /** PEM of the server's certificate authorities; undefined for the root certificates that Node.js trusts. */
  readonly ca?: string | undefined;
}

/** Returns whether two identities send the same credential. */
export function hasSameCredential(a: Identity, b: Identity): boolean {
  return a.secret === b.secret && a.tlsDigest === b.tlsDigest;
}

/** Source of a bearer token that changes while it is in use. */
export interface BearerTokenSource {
  /** The token to send; undefined if `get` has to request one. */
  readonly current: Sensitive<string> | undefined;
  /** Returns a valid token. */
  get(): Promise<Sensitive<string>>;
  /** Returns the token to send after a 401; the rejected token if there is no other. */
  replace(rejected: string | undefined): Promise<Sensitive<string>>;
}

/** TLS settings of a connection. */
export interface TlsIdentity {
  readonly secureContext: SecureContext;
}

export interface CredentialsOptions {
  readonly clock: Clock;
  /** Interval after which files are read again, in milliseconds. */
  readonly rereadMs: number;
  /** Environment of credential plugins; undefined rejects users with a plugin. */
  readonly execEnv?: Env;
  /** Source of the bearer token that replaces the user's own token; undefined to send the user's own. */
  readonly bearer?: BearerTokenSource;
}

interface LoadedIdentity {
  readonly identity: Identity;
  readonly loadedAt: number;
}

/** Keeps a user's identity on a cluster up to date. */
export class Credentials {
  readonly #cluster: Cluster;
  readonly #user: User;
  readonly #options: CredentialsOptions;
  /** True if the identity depends on no file and no plugin. */
  readonly #isFixed: boolean;
  /** Last loaded identity, and the monotonic time of the last attempt to load it; undefined before the first success. */
  #current: LoadedIdentity | undefined;
  /** Load in progress, and whether a 401 started it. */
  #loading: { readonly identity: Promise<Identity>; readonly isReplacement: boolean } | undefined;
  #exec: ExecCredential | undefined;

  constructor(cluster: Cluster, user: User, options: CredentialsOptions) {
    this.#cluster = cluster;
    this.#user = user;
    this.#options = options;
    this.#isFixed = ![cluster.caFile, user.certFile, user.keyFile, tokenFileOf(user), user.exec].some(Boolean);
    checkSupported(user, options);
  }

  /**
   * Returns the current identity. `rejected` is the identity of a request with a 401: if it is still current, the source of the bearer token
   * replaces the token, and an identity from files or a plugin is loaded again, unless the last attempt was within the last second. Keeps
   * the previous identity while loading fails, for example because a key does not match its certificate in the middle of a rotation. Rejects
   * if no load has succeeded.
   */
  identity(rejected?: Identity): Promise<Identity> {
    const known = this.#findFresh(rejected);
    if (known !== undefined) return Promise.resolve(known);
    // A load that began for another reason may return the rejected token.
    if (rejected !== undefined && this.#loading?.isReplacement === false) return this.#loading.identity.then(() => this.identity(rejected));
    this.#loading ??= {
      identity: this.#load(rejected).finally(() => {
        this.#loading = undefined;
      }),
      isReplacement: rejected !== undefined,
    };
    return this.#loading.identity;
  }

  /** Current identity; undefined if the identity has to be loaded again. */
  get fresh(): Identity | undefined {
    return this.#findFresh();
  }

  /** PEM of the server's certificate authorities; undefined before the first load and for the root certificates that Node.js trusts. */
  get ca(): string | undefined {
    return this.#current?.identity.ca;
  }

  #findFresh(rejected?: Identity): Identity | undefined {
    return this.#current !== undefined && this.#isFresh(this.#current, rejected) ? this.#current.identity : undefined;
  }

  #isFresh({ identity, loadedAt }: LoadedIdentity, rejected: Identity | undefined): boolean {
    const { clock, rereadMs, bearer } = this.#options;
    const isRejected = rejected !== undefined && hasSameCredential(identity, rejected);
    if (bearer !== undefined) return !isRejected && bearer.current?.reveal() === identity.secret;
    if (this.#isFixed) return true;
    return !isExpired(this.#exec, clock.now()) && clock.monotonic() - loadedAt < (isRejected ? REJECTED_REREAD_MS : rereadMs);
  }

  async #load(rejected: Identity | undefined): Promise<Identity> {
    const loadedAt = this.#options.clock.monotonic();
    try {
      this.#current = { identity: await this.#read(rejected), loadedAt };
    } catch (cause) {
      if (this.#current === undefined) throw new Error(`no credentials for ${this.#cluster.server}: ${messageOf(cause)}`, { cause });
      this.#current = { identity: this.#current.identity, loadedAt };
    }
    return this.#current.identity;
  }

  async #read(rejected: Identity | undefined): Promise<Identity> {
    const user = this.#user;
    await this.#runExec(rejected !== undefined);
    const [ca, cert, key, token] = await Promise.all([
      readFileOrData(this.#cluster.caFile, this.#cluster.caData),
      this.#exec?.clientCertificateData ?? readFileOrData(user.certFile, user.certData),
      this.#exec?.clientKeyData ?? readFileOrData(user.keyFile, user.keyData),
      this.#exec?.token ?? this.#getBearerToken(rejected) ?? readToken(user),
    ]);
    return { ca, ...toAuthorization(user, token), ...this.#createTls(omitUndefined({ ca, cert, key })) };
  }

  /** Returns the token of `bearer`; undefined without `bearer`. */
  #getBearerToken(rejected: Identity | undefined): Promise<string> | undefined {
    const { bearer } = this.#options;
    const token = rejected === undefined ? bearer?.get() : bearer?.replace(rejected.secret);
    return token?.then((each) => each.reveal());
  }

  /** Returns the TLS context for these certificates, and its digest. Throws if the key does not match the certificate. */
  #createTls(material: { readonly ca?: string; readonly cert?: string; readonly key?: string }): Pick<Identity, 'tls' | 'tlsDigest'> {
    const tlsDigest = createHash('sha256').update(JSON.stringify(material)).digest('hex');
    const secureContext = TLS_CONTEXTS.get(tlsDigest)?.deref() ?? createSecureContext(material);
    TLS_CONTEXTS.set(tlsDigest, new WeakRef(secureContext));
    return { tls: { secureContext }, tlsDigest };
  }

  async #runExec(rejected: boolean): Promise<void> {
    const { clock, execEnv = {} } = this.#options;
    const exec: ExecConfig | null | undefined = this.#user.exec;
    if (!exec || (this.#exec !== undefined && !rejected && !isExpired(this.#exec, clock.now()))) return;
    this.#exec = await runExecPlugin(exec, this.#cluster, execEnv);
  }
}

/**
 * TLS contexts in use, by digest. Connections with the same TLS settings share a context, even with different tokens: a new context costs
 * half as much as a handshake.
 */
const TLS_CONTEXTS = new BoundedCache<WeakRef<SecureContext>>(4_096);
/**
 * Minimum interval between reloads after a 401, in milliseconds. Otherwise, while a server rejects all requests, each request would run a
 * credential plugin again, and would be sent twice if the plugin returns a new token each time.
 */
const REJECTED_REREAD_MS = 1_000;
/** Time before the expiry of a plugin's credential at which the plugin runs again, in milliseconds. */
const EXPIRY_MARGIN_MS = 10_000;

function isExpired(credential: ExecCredential | undefined, now: number): boolean {
  return credential?.expiresAt !== undefined && now >= credential.expiresAt - EXPIRY_MARGIN_MS;
}

function checkSupported(user: User, options: CredentialsOptions): void {
  if (user.exec && options.execEnv === undefined) throw new Error(`user ${user.name}: credential plugins are not allowed`);
  if (user.authProvider && tokenFileOf(user) === undefined) {
    throw new Error(`user ${user.name}: auth-provider ${String(user.authProvider.name)} is not supported; use exec`);
  }
}

function toAuthorization(user: User, token: string | undefined): Pick<Identity, 'headers' | 'secret'> {
  const impersonationHeaders = user.impersonateUser ? { 'impersonate-user': user.impersonateUser } : {};
  if (token) return { headers: { ...impersonationHeaders, authorization: `Bearer ${token}` }, secret: token };
  if (!user.username) return { headers: impersonationHeaders };
  const pair = Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64');
  return { headers: { ...impersonationHeaders, authorization: `Basic ${pair}` }, secret: pair };
}

async function readToken(user: User): Promise<string | undefined> {
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

async function readFileOrData(file: string | undefined | null, data: string | undefined | null): Promise<string | undefined> {
  if (data) return Buffer.from(data, 'base64').toString('utf8');
  return file ? await readFile(file, 'utf8') : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
