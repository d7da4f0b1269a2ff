// The façade, put together: who may call, what is served where, and the certificate that it is served with.

import type { ClusterClients } from '../issuers/cluster-clients.ts';
import type { RegisteredCluster } from '../issuers/create-target.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../std/clock.ts';
import type { Logger } from '../telemetry/logger.ts';
import { Audit } from './audit.ts';
import { Authenticator } from './authenticate.ts';
import { Authorizer } from './authorize.ts';
import { type CertificateSource, followCertificate, type ServingCertificate } from './certificate.ts';
import { openApiDocument } from './openapi.ts';
import { RateLimit } from './rate-limit.ts';
import { createFacadeServer, type FacadeServer, type Route } from './server.ts';
import { createTokenEndpoint } from './tokens/endpoint.ts';

/** What an operator can set. */
export interface FacadeSettings {
  readonly port: number;
  readonly host: string;
  /** The first segment of paths that lead to clusters. */
  readonly path: string;
  /** One of them must be among those that a caller's token is for; none are demanded when empty. */
  readonly audiences: readonly string[];
  /** Those of token requests that name none; such requests are refused when it is empty. */
  readonly defaultAudiences: readonly string[];
  /** Namespaces of clusters whose accounts must be named in a rule. */
  readonly protectedNamespaces: readonly string[];
  /** How many requests a second a caller may make; 0 for any number. */
  readonly requestsPerSecond: number;
}

export interface FacadeOptions {
  readonly hub: KubeClient;
  readonly clients: ClusterClients;
  /** A Cluster and our credential for it; undefined when there is no such Cluster. */
  readonly registered: (cluster: string) => RegisteredCluster | undefined;
  readonly certificate: CertificateSource;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: FacadeSettings;
  /** What else is served to callers. */
  readonly routes?: readonly Route[];
}

/** A façade that can be started once. */
export interface Facade {
  /** Starts to serve, and says at which port. Rejects when that is taken, or when the certificate cannot be used. */
  listen(): Promise<number>;
  /** Ends streams, lets other requests finish for a while, and closes. */
  close(graceMs: number): Promise<void>;
}

/** Makes a façade; nothing is opened before it listens. */
export function createFacade(options: FacadeOptions): Facade {
  const { certificate, settings } = options;
  let server: FacadeServer | undefined;
  let stopWatching = () => {};
  return {
    async listen() {
      const first = await certificate();
      server = await serverOf(options, first);
      const { port } = await server.listen(settings.port, settings.host);
      stopWatching = followCertificate(options, first, server);
      return port;
    },
    async close(graceMs) {
      stopWatching();
      await server?.close(graceMs);
    },
  };
}

function serverOf(options: FacadeOptions, certificate: ServingCertificate): Promise<FacadeServer> {
  const { hub, clock, log, settings } = options;
  const { audiences, requestsPerSecond: perSecond } = settings;
  const authenticator = new Authenticator({ hub, clock, log, audiences });
  const rates = new RateLimit(clock, { perSecond, burst: perSecond * 2 });
  return createFacadeServer({
    clock,
    certificate,
    routes: [tokenRoute(options), ...(options.routes ?? [])],
    documents: [openApiDocument(settings.path)],
    authenticate: async (rawHeaders, signal) => {
      const caller = await authenticator.authenticate(rawHeaders, signal);
      rates.check(caller.user.username);
      return caller;
    },
    report: (error, requestID) => log.error({ error, requestID }, 'the façade met an error that it did not expect'),
  });
}

function tokenRoute({ hub, clients, registered, clock, log, settings }: FacadeOptions): Route {
  const { path, protectedNamespaces, defaultAudiences } = settings;
  const authorizer = new Authorizer({ hub, clock, log, protectedNamespaces });
  const endpoint = createTokenEndpoint({ authorizer, clients, registered, defaultAudiences, audit: new Audit(log) });
  return { method: 'POST', path: `/${path}/:cluster/api/v1/namespaces/:namespace/serviceaccounts/:name/token`, endpoint };
}
