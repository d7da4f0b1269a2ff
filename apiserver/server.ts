// The embedded API server: one folder, one port, and everything in between put together.

import { internalError } from '../src/kubernetes/status.ts';
import { systemClock } from '../src/std/clock.ts';
import { type Certificate, createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../src/std/x509/certificates.ts';
import { bootstrapPolicy } from './access/bootstrap-policy.ts';
import { generateSigningKey, parseSigningKey, type SigningKey } from './access/signing-key.ts';
import type { User } from './access/user.ts';
import { createApi } from './api.ts';
import { startUpkeep } from './controllers/start.ts';
import { pathEndpoint } from './endpoints/path.ts';
import { resourceEndpoint } from './endpoints/resource.ts';
import { handle } from './handler.ts';
import { bootstrapNamespaces } from './kinds/registry.ts';
import { listenForRequests } from './listener.ts';
import type { ApiRequest } from './request.ts';
import { type Journal, openJournal } from './storage/journal.ts';
import { ObjectStore } from './storage/object-store.ts';

export interface ApiServerOptions {
  /** Data folder, locked for one server at a time. */
  readonly folder: string;
  /** 0 for any free port. */
  readonly port: number;
  /** The issuer of service-account tokens, and their audience unless a request names others. */
  readonly issuer: string;
  /** Users by their bearer tokens. */
  readonly tokens: ReadonlyMap<string, User>;
  /** Receives unexpected errors. */
  readonly report: (error: unknown) => void;
}

export interface ApiServer {
  readonly url: string;
  readonly port: number;
  /** The certificate authority, as PEM. */
  readonly ca: string;
  /** Issues a certificate for another server on this machine. */
  readonly issueServing: () => Certificate;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';

/** Serves what the folder holds. Throws a DataFolderError for folders that cannot be used, and the socket's error for a port that is taken. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const journal = openJournal(options.folder);
  let closeStorage = async () => journal.close();
  try {
    const identity = await identityOf(journal, systemClock.now());
    const store = new ObjectStore(journal, options.report);
    const api = createApi(store, { ...options, clock: systemClock, signingKey: identity.signingKey });
    const stopUpkeep = startUpkeep(api, [...bootstrapNamespaces, ...bootstrapPolicy()]);
    // Controllers write independently of requests: their writes must be on disk before the folder is closed.
    closeStorage = async () => {
      stopUpkeep();
      await store.close();
    };
    let address = '';
    const endpoint = (request: ApiRequest) => {
      const { info } = request;
      return info.type === 'resource' ? resourceEndpoint(api, { ...request, info }) : pathEndpoint(api, request, { address });
    };
    const deps = {
      ...api,
      endpoint,
      report: options.report,
      durable: () => store.durable().catch(unavailable),
    };
    const { serving, authority } = identity;
    const tls = { cert: serving.certificate, key: serving.key };
    // Upkeep tries again what a full disk does not take now.
    await store.durable().catch(() => {});
    const where = { ...options, host: HOST, clock: systemClock };
    const listener = await listenForRequests({ ...where, tls, handle: (request) => handle(deps, request) });
    address = `${HOST}:${listener.port}`;
    return {
      url: `https://${address}`,
      port: listener.port,
      ca: authority.certificate,
      issueServing: () => issueServerCertificate(authority, LOOPBACK_NAMES, systemClock.now()),
      async close() {
        await listener.close();
        await closeStorage();
      },
    };
  } catch (error) {
    await closeStorage();
    throw error;
  }
}

/** Refuses a write that is not on disk; it was undone. */
function unavailable(cause: unknown): never {
  const why = (cause as Error).message;
  throw internalError(`the data folder cannot be written (${why}); nothing was changed. Free disk space and try again`, { cause });
}

export interface Identity {
  readonly authority: Certificate;
  readonly signingKey: SigningKey;
  /** Certificate of the TLS socket; reissued at each start. */
  readonly serving: Certificate;
}

/** Returns the identity that belongs to a data folder, made on first use. */
export async function identityOf(journal: Journal, now: number): Promise<Identity> {
  const authority = JSON.parse(journal.kept('authority') ?? journal.keep('authority', JSON.stringify(createAuthority(now)))) as Certificate;
  const signingKey = parseSigningKey(journal.kept('signing-key') ?? journal.keep('signing-key', await generateSigningKey()));
  return { authority, signingKey, serving: issueServerCertificate(authority, LOOPBACK_NAMES, now) };
}
