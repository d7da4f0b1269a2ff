// The embedded API server: storage, controllers and endpoints on one data folder and one port.

import { internalError } from '../src/kubernetes/status.ts';
import { systemClock } from '../src/std/clock.ts';
import { type Certificate, createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../src/std/x509/certificates.ts';
import { createBootstrapPolicy } from './access/bootstrap-policy.ts';
import { generateSigningKey, parseSigningKey, type SigningKey } from './access/signing-key.ts';
import { type TrustedIssuer, TrustedTokenVerifier } from './access/trusted-issuer.ts';
import type { User } from './access/user.ts';
import { createApi } from './api.ts';
import { startControllers } from './controllers/start.ts';
import { handlePath } from './endpoints/path.ts';
import { handleResource } from './endpoints/resource.ts';
import { handle } from './handler.ts';
import { bootstrapNamespaces } from './kinds/registry.ts';
import { listenForRequests } from './listener.ts';
import type { ApiRequest } from './request.ts';
import { type Journal, openJournal } from './storage/journal.ts';
import { ObjectStore } from './storage/object-store.ts';

export interface ApiServerOptions {
  /** Data folder. Only one server at a time can use it. */
  readonly folder: string;
  /** Port; 0 for any free port. */
  readonly port: number;
  /** Issuer of service-account tokens, and their default audience. */
  readonly issuer: string;
  /** Users by their bearer tokens. */
  readonly tokens: ReadonlyMap<string, User>;
  /** Issuer of another cluster, whose tokens the server accepts. It must differ from `issuer`. */
  readonly trusts?: TrustedIssuer | undefined;
  /** Receives unexpected errors. */
  readonly report: (error: unknown) => void;
}

export interface ApiServer {
  readonly url: string;
  readonly port: number;
  /** The certificate authority, as PEM. */
  readonly ca: string;
  /** Issues a certificate for another server on this machine. */
  readonly issueServingCertificate: () => Certificate;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';

/** Starts a server on a data folder. Throws a DataFolderError for an unusable folder, and the socket's error for a port in use. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  // kube-apiserver does not start with such a configuration either.
  if (options.trusts?.url === options.issuer) throw new Error("the trusted issuer must differ from the server's own issuer");
  const journal = openJournal(options.folder);
  let closeStorage = async () => journal.close();
  try {
    const identity = loadIdentity(journal, systemClock.now());
    const store = new ObjectStore(journal, options.report);
    let address = '';
    const trusted = options.trusts && new TrustedTokenVerifier(options.trusts, () => `https://${address}`);
    const api = createApi(store, { ...options, trusted, clock: systemClock, signingKey: identity.signingKey });
    const stopControllers = startControllers(api, [...bootstrapNamespaces, ...createBootstrapPolicy()]);
    // Controllers write independently of requests: their writes must be on disk before the folder is closed.
    closeStorage = async () => {
      stopControllers();
      await store.close();
    };
    const endpoint = (request: ApiRequest) => {
      const { info } = request;
      return info.type === 'resource' ? handleResource(api, { ...request, info }) : handlePath(api, request, { address });
    };
    const deps = { ...api, endpoint, report: options.report, whenDurable: () => store.whenDurable().catch(throwUnwritten) };
    const { serving, authority } = identity;
    const tls = { cert: serving.certificate, key: serving.key };
    // On a full disk, the first writes of the controllers fail; the controllers retry them.
    await store.whenDurable().catch(() => {});
    const socket = { ...options, host: HOST, clock: systemClock, tls };
    const listener = await listenForRequests({ ...socket, handle: (request) => handle(deps, request) });
    address = `${HOST}:${listener.port}`;
    return {
      url: `https://${address}`,
      port: listener.port,
      ca: authority.certificate,
      issueServingCertificate: () => issueServerCertificate(authority, LOOPBACK_NAMES, systemClock.now()),
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

/** Throws 500 after a failed commit, whose writes were undone. */
function throwUnwritten(cause: unknown): never {
  const reason = (cause as Error).message;
  throw internalError(
    `the data folder cannot be written (${reason}); nothing was changed. Correct the cause, for example free disk space, and try again`,
    { cause },
  );
}

interface Identity {
  readonly authority: Certificate;
  readonly signingKey: SigningKey;
  /** Certificate of the TLS socket, reissued at each start. */
  readonly serving: Certificate;
}

/** Loads the identity of a data folder; creates it on first use. */
function loadIdentity(journal: Journal, now: number): Identity {
  const authority = JSON.parse(
    journal.readValue('authority') ?? journal.writeValue('authority', JSON.stringify(createAuthority(now))),
  ) as Certificate;
  const signingKey = parseSigningKey(journal.readValue('ecdsa-key') ?? journal.writeValue('ecdsa-key', generateSigningKey()));
  return { authority, signingKey, serving: issueServerCertificate(authority, LOOPBACK_NAMES, now) };
}
