// Assembles the façade: authentication, limits, routes and the server.

import { Subscription } from 'rxjs';
import { PROTECTED_NAMESPACES } from '../access/issue-permission.ts';
import { PROBE_INTERVAL_MS } from '../clusters/policy/health.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../std/clock.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import { toTokenLimits } from '../targets/policy/grant.ts';
import type { RegisteredCluster } from '../targets/registry.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { Assets, redirectTo } from '../ui/assets.ts';
import { Authenticator } from './authenticate.ts';
import { type CertificateSource, followCertificate, type ServingCertificate } from './certificate.ts';
import type { ReviewLimit } from './limits/review-limit.ts';
import { type SeatLimits, SeatQueue } from './limits/seat-queue.ts';
import { RequestRateLimiter, toTenant } from './limits/tenant.ts';
import type { Lists } from './lists.ts';
import { createOpenApiDocument } from './openapi.ts';
import type { PublicDocument, Route } from './router.ts';
import { createFacadeServer, type FacadeServer, type ServerOptions } from './server.ts';
import { Audit } from './tokens/audit.ts';
import { Authorizer } from './tokens/authorizer.ts';
import { createTokenEndpoint, toIssueTarget } from './tokens/endpoint.ts';
import { TokenRequestParser } from './tokens/request-parser.ts';

export interface FacadeSettings {
  readonly facadePort: number;
  /** Address to listen on; all addresses by default. */
  readonly bindAddress?: string | undefined;
  /** First path segment of the token endpoint; `orchestrator` by default. */
  readonly facadePath?: string;
  /** Audiences accepted in callers' tokens; a token needs one of them. By default, any token that the hub accepts is enough. */
  readonly facadeAudiences?: readonly string[];
  /** Audiences of token requests that name none; such requests are rejected by default. */
  readonly facadeDefaultAudiences?: readonly string[];
  /** Maximum rate of each tenant, in requests per second; unlimited if 0 or undefined. */
  readonly facadeRate?: number;
  /** False to serve only HTTP/1.1; true if undefined. */
  readonly facadeHttp2?: boolean;
  /** True to serve the web UI at /ui/; false if undefined. */
  readonly facadeUi?: boolean;
  /** Prefixes of public Cluster annotations; none by default. */
  readonly facadeAnnotations?: readonly string[];
  /**
   * Namespaces on target clusters that an RBAC rule with resourceNames must name; a rule for a whole cluster or set does not cover them.
   * PROTECTED_NAMESPACES by default.
   */
  readonly protectedNamespaces?: readonly string[];
  /** Maximum lifetime of tokens, in seconds; unlimited by default. */
  readonly maxExpirationSeconds?: number | undefined;
  /** Audiences that tokens may have; all by default. */
  readonly allowedAudiences?: readonly string[] | undefined;
  /** Interval at which the controller probes each cluster, in milliseconds; PROBE_INTERVAL_MS by default. */
  readonly probeIntervalMs?: number;
}

export interface FacadeOptions extends Pick<ServerOptions, 'connections' | 'keepAliveMs' | 'arrivalMs'> {
  readonly hub: KubeClient;
  readonly clients: ClusterClients;
  /** Returns a Cluster, with Purser's credential for it if there is one; undefined if the Cluster does not exist or is being deleted. */
  readonly findRegistration: (cluster: string) => RegisteredCluster | undefined;
  readonly certificate: CertificateSource;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: FacadeSettings;
  readonly metrics?: Pick<Metrics, 'recordRequest' | 'recordIssuance'>;
  /** Limit on TokenReviews, shared with the rest of the process; a new limit if undefined. */
  readonly reviewLimit?: ReviewLimit;
  /** Filtered lists, which run from `listen` to `close`; none by default. */
  readonly lists?: Pick<Lists, 'listings' | 'routes' | 'run'>;
}

/** A façade that can be started once. */
export interface Facade {
  /**
   * Starts to listen; returns the URL. Rejects if the address or the port is not available, or if the certificate or the web UI cannot be
   * loaded.
   */
  listen(): Promise<string>;
  /** Ends watches, lets other requests finish for up to `graceMs` milliseconds, and closes. */
  close(graceMs: number): Promise<void>;
}

/** Creates a façade that does not listen yet. */
export function createFacade(options: FacadeOptions): Facade {
  const { certificate, clock, log, settings, lists } = options;
  const running = new Subscription();
  let server: FacadeServer | undefined;
  let stopFollowing = () => {};
  return {
    async listen() {
      running.add(lists?.run());
      const first = await certificate();
      const page = settings.facadeUi === true ? createPageDocuments(await Assets.load({ needsLogin: true })) : [];
      server = assembleServer(options, first, page);
      const { url } = await server.listen(settings.facadePort, settings.bindAddress);
      stopFollowing = followCertificate({ certificate, clock, log }, first, server);
      return url;
    },
    async close(graceMs) {
      stopFollowing();
      await server?.close(graceMs);
      running.unsubscribe();
    },
  };
}

const DEFAULT_PATH = 'orchestrator';
/** Limits on requests in progress; streamed responses are excluded. One tenant can use at most half of the connections to a cluster. */
const QUEUE_LIMITS: SeatLimits = { perTenant: 8, total: 1_024, waitingPerTenant: 64, waiting: 1_024 };

function assembleServer(options: FacadeOptions, certificate: ServingCertificate, page: readonly PublicDocument[]): FacadeServer {
  const { hub, clock, log, settings, reviewLimit, lists } = options;
  const { facadePath = DEFAULT_PATH, facadeAudiences: audiences = [], facadeRate: perSecond = 0 } = settings;
  const { facadeDefaultAudiences: defaultAudiences = [] } = settings;
  const authenticator = new Authenticator({ hub, clock, log, audiences, reviewLimit });
  const rateLimiter = new RequestRateLimiter(clock, { perSecond, burst: perSecond * 2 });
  const queue = new SeatQueue(QUEUE_LIMITS);
  return createFacadeServer({
    clock,
    certificate,
    connections: options.connections,
    keepAliveMs: options.keepAliveMs,
    arrivalMs: options.arrivalMs,
    isHttp2Served: settings.facadeHttp2,
    routes: [createTokenRoute(options), ...(lists?.routes ?? [])],
    documents: [createOpenApiDocument(facadePath, lists?.listings ?? [], { hasDefaultAudiences: defaultAudiences.length > 0 }), ...page],
    authenticate: (exchange) => authenticator.authenticate(exchange, exchange.signal),
    admit: ({ caller: { user }, signal }) => {
      const tenant = toTenant(user.username);
      rateLimiter.count(tenant);
      return queue.acquire(tenant, signal);
    },
    onResponse: (response) => options.metrics?.recordRequest(response),
    report: (error, requestID) => log.error({ error, requestID }, 'unexpected error'),
  });
}

function createTokenRoute({ hub, clients, findRegistration, clock, log, settings, metrics }: FacadeOptions): Route {
  const { facadePath = DEFAULT_PATH, protectedNamespaces = PROTECTED_NAMESPACES, probeIntervalMs = PROBE_INTERVAL_MS } = settings;
  const { facadeDefaultAudiences: defaultAudiences = [], facadeAudiences: ownAudiences = [] } = settings;
  const authorizer = new Authorizer({ hub, clock, log, protectedNamespaces });
  const parser = new TokenRequestParser({ defaultAudiences, ownAudiences, limits: toTokenLimits(settings) });
  const audit = new Audit({ log, clock, metrics });
  return {
    method: 'POST',
    path: `/${facadePath}/:cluster/api/v1/namespaces/:namespace/serviceaccounts/:name/token`,
    endpoint: createTokenEndpoint({ authorizer, clients, findRegistration, parser, audit, clock, probeIntervalMs }),
    onRejected: (request, error) => audit.recordRejectedEarly(request, { target: toIssueTarget(request.params) }, error),
  };
}

/** Returns the public files of the web UI. The page reads the lists of the façade with the token of the user who logs in. */
function createPageDocuments(assets: Assets): readonly PublicDocument[] {
  return [
    { path: '/ui', reply: () => redirectTo('/ui/') },
    {
      path: '/ui/*',
      reply: (request) =>
        assets.reply(request.params['*'] ?? '', {
          acceptEncoding: request.header('accept-encoding'),
          ifNoneMatch: request.header('if-none-match'),
        }),
    },
  ];
}
