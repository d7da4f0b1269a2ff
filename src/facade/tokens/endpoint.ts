// POST …/serviceaccounts/{name}/token: authorises, reads, has the target issue, answers; and says in the audit log how it went.

import type { Authorizer } from '../../access/authorizer.ts';
import type { IssueTarget } from '../../access/issue-permission.ts';
import { unreachableMs } from '../../clusters/policy/known-unreachable.ts';
import { type Reply, textReply } from '../../kubernetes/reply.ts';
import { checkAnswerForm, showAnswer } from '../../kubernetes/representation.ts';
import { TOKEN_REQUEST_KIND } from '../../kubernetes/token-request.ts';
import { negotiate } from '../../kubernetes/wire/negotiate.ts';
import type { Clock } from '../../std/clock.ts';
import type { ClusterClients } from '../../targets/cluster-clients.ts';
import { IssueError } from '../../targets/issue-error.ts';
import type { RegisteredCluster } from '../../targets/registered-cluster.ts';
import type { Asked, Audit } from '../audit.ts';
import type { Endpoint, FacadeRequest } from '../request.ts';
import { issue } from './issue.ts';
import type { PostedTokenRequest, TokenRequestReader } from './read-request.ts';
import { refusalOf } from './refusal.ts';
import { rehearse } from './rehearse.ts';

export interface TokenEndpointOptions {
  readonly authorizer: Authorizer;
  readonly clients: ClusterClients;
  /** A Cluster and our credential for it; undefined when there is no such Cluster. */
  readonly registered: (cluster: string) => RegisteredCluster | undefined;
  readonly requests: TokenRequestReader;
  readonly audit: Audit;
  readonly clock: Clock;
  /** How often the controller looks whether clusters can be reached. */
  readonly probeIntervalMs: number;
}

/** What a path that names `cluster`, `namespace` and `name` is about. */
export function issueTargetOf({ cluster = '', namespace = '', name: serviceAccount = '' }: FacadeRequest['params']): IssueTarget {
  return { cluster, namespace, serviceAccount };
}

/** Makes the endpoint. */
export function createTokenEndpoint(options: TokenEndpointOptions): Endpoint {
  return async (request) => {
    const target = issueTargetOf(request.params);
    const issuance = new Issuance(options, request, target);
    try {
      return await issuance.reply();
    } catch (error) {
      const { aborted, reason } = request.signal;
      const refusal: unknown = aborted ? reason : refusalOf(error, target);
      options.audit.refused(request, issuance.asked, refusal, error);
      throw refusal;
    }
  };
}

/** The way of one request. */
class Issuance {
  readonly #options: TokenEndpointOptions;
  readonly #request: FacadeRequest;
  readonly #target: IssueTarget;
  /** What is known of it so far. */
  asked: Asked;

  constructor(options: TokenEndpointOptions, request: FacadeRequest, target: IssueTarget) {
    this.#options = options;
    this.#request = request;
    this.#target = target;
    this.asked = { target };
  }

  async reply(): Promise<Reply> {
    const { authorizer, requests } = this.#options;
    const { caller, preferences, signal } = this.#request;
    // Before anything is looked up: who may not know a cluster cannot tell whether it exists.
    await authorizer.authorize(caller.user, this.#target, signal);
    const representation = negotiate(preferences, { builtIn: true, tables: false });
    const posted = await requests.read(this.#request, this.#account, (decoded) => {
      this.asked = { target: this.#target, ...summary(decoded) };
    });
    // Before there is a token that nobody gets.
    checkAnswerForm(TOKEN_REQUEST_KIND, representation.as);
    const reply = textReply(201, showAnswer(await this.#answer(posted), TOKEN_REQUEST_KIND, representation.as), representation);
    return { ...reply, headers: { ...reply.headers, 'cache-control': 'no-cache, no-store, private' } };
  }

  get #account() {
    return { namespace: this.#target.namespace, name: this.#target.serviceAccount };
  }

  async #answer(posted: PostedTokenRequest) {
    const { clients, registered, audit, clock, probeIntervalMs } = this.#options;
    const { warn, signal } = this.#request;
    const account = this.#account;
    const cluster = registered(this.#target.cluster);
    if (cluster === undefined) throw new IssueError('ClusterNotFound');
    const retryAfterMs = unreachableMs(cluster.cluster, probeIntervalMs, clock.now());
    if (retryAfterMs > 0) throw new IssueError('ClusterUnreachable', '', { retryAfterMs });
    return await clients.use(cluster, async (all) => {
      const target = all.forCalls();
      if (posted.dryRun) {
        const rehearsed = await rehearse(posted, { target, account, warn, signal });
        audit.rehearsed(this.#request, this.asked);
        return rehearsed;
      }
      const startedAt = target.clock.monotonic();
      const { token, answer } = await issue(target, posted, account, signal);
      token.warnings.forEach(warn);
      audit.issued(this.#request, { ...this.asked, durationMs: target.clock.monotonic() - startedAt }, token);
      return answer;
    });
  }
}

function summary({ request, audiences }: Pick<PostedTokenRequest, 'request' | 'audiences'>): Omit<Asked, 'target'> {
  const { expirationSeconds, boundObjectRef } = request.spec;
  const bound = boundObjectRef && { boundObject: `${boundObjectRef.kind ?? ''}/${boundObjectRef.name ?? ''}` };
  return { audiences, expirationSeconds, ...bound };
}
