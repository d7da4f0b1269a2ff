// POST …/serviceaccounts/{name}/token: authorises, reads, has the target issue, answers; and says in the audit log how it went.

import { type Reply, textReply } from '../../apimachinery/reply.ts';
import { TOKEN_REQUEST } from '../../apimachinery/reviews.ts';
import { objectText } from '../../apimachinery/wire/encode.ts';
import { negotiate } from '../../apimachinery/wire/negotiate.ts';
import type { IssueTarget } from '../../domain/issue-names.ts';
import type { ClusterClients } from '../../issuers/cluster-clients.ts';
import type { RegisteredCluster } from '../../issuers/create-target.ts';
import { IssueError } from '../../issuers/issue-error.ts';
import type { Asked, Audit } from '../audit.ts';
import type { Authorizer } from '../authorize.ts';
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
}

/** Makes the endpoint. Its path names `cluster`, `namespace` and `name`. */
export function createTokenEndpoint(options: TokenEndpointOptions): Endpoint {
  return async (request) => {
    const { cluster = '', namespace = '', name: serviceAccount = '' } = request.params;
    const target = { cluster, namespace, serviceAccount };
    const issuance = new Issuance(options, request, target);
    try {
      return await issuance.reply();
    } catch (error) {
      const refusal = request.signal.aborted ? error : refusalOf(error, target);
      options.audit.refused(request, issuance.asked, refusal);
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
    const posted = await requests.read(this.#request, this.#account);
    this.asked = { target: this.#target, ...summary(posted) };
    const reply = textReply(201, objectText(await this.#answer(posted), TOKEN_REQUEST), representation);
    return { ...reply, headers: { ...reply.headers, 'cache-control': 'no-cache, no-store, private' } };
  }

  get #account() {
    return { namespace: this.#target.namespace, name: this.#target.serviceAccount };
  }

  async #answer(posted: PostedTokenRequest) {
    const { clients, registered, audit } = this.#options;
    const { warn, signal } = this.#request;
    const account = this.#account;
    const cluster = registered(this.#target.cluster);
    if (cluster === undefined) throw new IssueError('ClusterNotFound');
    return await clients.use(cluster, async (target) => {
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

function summary({ request, audiences }: PostedTokenRequest): Omit<Asked, 'target'> {
  const { expirationSeconds, boundObjectRef } = request.spec;
  const bound = boundObjectRef && { boundObject: `${boundObjectRef.kind ?? ''}/${boundObjectRef.name ?? ''}` };
  return { audiences, expirationSeconds, ...bound };
}
