// The façade, put together: who may call, what is served where, and the certificate that it is served with.

import { Authorizer } from '../access/authorizer.ts';
import { PROTECTED_NAMESPACES } from '../access/issue-permission.ts';
import { PROBE_INTERVAL_MS } from '../clusters/policy/known-unreachable.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../std/clock.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import { tokenLimits } from '../targets/policy/token-request.ts';
import type { RegisteredCluster } from '../targets/registered-cluster.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { Rates } from './admission/rates.ts';
import type { ReviewLimit } from './admission/review-limit.ts';
import { type TurnLimits, Turns } from './admission/turns.ts';
import { Audit } from './audit.ts';
import { Authenticator } from './authenticate.ts';
import { type CertificateSource, followCertificate, type ServingCertificate } from './certificate.ts';
import { openApiDocument } from './openapi.ts';
import type { Route } from './routes.ts';
import { createFacadeServer, type FacadeServer, type ServerOptions } from './server.ts';
import { createTokenEndpoint, issueTargetOf } from './tokens/endpoint.ts';
import { TokenRequestReader } from './tokens/read-request.ts';

/** What an operator can set. */
export interface FacadeSettings {
  readonly facadePort: number;
  /** Where to listen; everywhere by default. */
  readonly bindAddress?: string | undefined;
  /** The first part of the paths that lead to clusters. */
  readonly facadePath?: string;
  /** One of them must be among those that a caller's token is for; none are demanded by default. */
  readonly facadeAudiences?: readonly string[];
  /** Those of token requests that name none; without any, such requests are refused. */
  readonly facadeDefaultAudiences?: readonly string[];
  /** How many requests a second a caller may make; any number by default, and for 0. */
  readonly facadeRate?: number;
  /** Annotations of Clusters that begin so may be read by everybody who sees the Cluster; none by default. */
  readonly facadeAnnotations?: readonly string[];
  /** Namespaces of clusters whose accounts must be named in a rule. */
  readonly protectedNamespaces?: readonly string[];
  /** The longest lifetime of tokens, and the audiences that they may be for; all by default. */
  readonly maxExpirationSeconds?: number | undefined;
  readonly allowedAudiences?: readonly string[] | undefined;
  /** How often clusters are asked whether they are ready. */
  readonly probeIntervalMs?: number;
}

export interface FacadeOptions extends Pick<ServerOptions, 'connections' | 'keepAliveMs'> {
  readonly hub: KubeClient;
  readonly clients: ClusterClients;
  /** A Cluster and our credential for it; undefined when there is no such Cluster. */
  readonly registered: (cluster: string) => RegisteredCluster | undefined;
  readonly certificate: CertificateSource;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: FacadeSettings;
  readonly metrics?: Pick<Metrics, 'answered' | 'issued'>;
  /** Limit on reviews of unknown tokens, shared with the rest of the process; an own one if undefined. */
  readonly reviewLimit?: ReviewLimit;
  readonly turns?: Partial<TurnLimits>;
  /** What else is served to callers. */
  readonly routes?: readonly Route[];
}

/** A façade that can be started once. */
export interface Facade {
  /** Starts to serve, and says where. Rejects when that is taken, or when the certificate cannot be used. */
  listen(): Promise<string>;
  /** Ends streams, lets other requests finish for a while, and closes. */
  close(graceMs: number): Promise<void>;
}

/** Makes a façade; nothing is opened before it listens. */
export function createFacade(options: FacadeOptions): Facade {
  const { certificate, clock, log, settings } = options;
  let server: FacadeServer | undefined;
  let unfollow = () => {};
  return {
    async listen() {
      const first = await certificate();
      server = await serverOf(options, first);
      const { url } = await server.listen(settings.facadePort, settings.bindAddress);
      unfollow = followCertificate({ certificate, clock, log }, first, server);
      return url;
    },
    async close(graceMs) {
      unfollow();
      await server?.close(graceMs);
    },
  };
}

const PATH = 'orchestrator';
/** Requests in progress before their response begins. One caller has at most half of the connections to one cluster. */
const TURNS: TurnLimits = { perCaller: 8, total: 1_024, waitingPerCaller: 64, waiting: 1_024 };

function serverOf(options: FacadeOptions, certificate: ServingCertificate): Promise<FacadeServer> {
  const { hub, clock, log, settings, reviewLimit } = options;
  const { facadePath = PATH, facadeAudiences: audiences = [], facadeRate: perSecond = 0 } = settings;
  const authenticator = new Authenticator({ hub, clock, log, audiences, reviewLimit });
  const rates = new Rates(clock, { perSecond, burst: perSecond * 2 });
  const turns = new Turns({ ...TURNS, ...options.turns });
  return createFacadeServer({
    clock,
    certificate,
    connections: options.connections,
    keepAliveMs: options.keepAliveMs,
    routes: [tokenRoute(options), ...(options.routes ?? [])],
    documents: [openApiDocument(facadePath)],
    authenticate: (exchange) => authenticator.authenticate(exchange, exchange.signal),
    admit: ({ caller: { user }, signal }) => {
      rates.check(user.username);
      return turns.take(user.username, signal);
    },
    answered: (answer) => options.metrics?.answered(answer),
    report: (error, requestID) => log.error({ error, requestID }, 'the façade met an error that it did not expect'),
  });
}

function tokenRoute({ hub, clients, registered, clock, log, settings, metrics }: FacadeOptions): Route {
  const { facadePath = PATH, protectedNamespaces = PROTECTED_NAMESPACES, probeIntervalMs = PROBE_INTERVAL_MS } = settings;
  const { facadeDefaultAudiences: defaultAudiences = [], facadeAudiences: ownAudiences = [] } = settings;
  const authorizer = new Authorizer({ hub, clock, log, protectedNamespaces });
  const requests = new TokenRequestReader({ defaultAudiences, ownAudiences, limits: tokenLimits(settings) });
  const audit = new Audit({ log, clock, metrics });
  return {
    method: 'POST',
    path: `/${facadePath}/:cluster/api/v1/namespaces/:namespace/serviceaccounts/:name/token`,
    endpoint: createTokenEndpoint({ authorizer, clients, registered, requests, audit, clock, probeIntervalMs }),
    turnedAway: (request, error) => audit.turnedAway(request, { target: issueTargetOf(request.params) }, error),
  };
}
