// Asks the target for a token, bound to an anchor where it is to be revocable.

import type { Cluster } from '../api/cluster.gen.ts';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import { type AnchorName, deleteAnchor, ensureAnchor } from '../targets/anchors.ts';
import { IssueError } from '../targets/issue-error.ts';
import type { Grant } from '../targets/policy/grant.ts';
import { anchorName, tokenRequestFor } from '../targets/policy/token-request.ts';
import type { RegisteredCluster } from '../targets/registered-cluster.ts';
import type { Target } from '../targets/target.ts';
import { issueToken } from '../targets/token-exchange.ts';
import type { TokenDeps } from './deps.ts';
import { outputsOf } from './observe.ts';
import type { OutputTarget } from './outputs/outputs.ts';
import { recordedAnchor } from './policy/anchors.ts';
import type { TokenObservation } from './policy/observation.ts';
import type { IssuePlan } from './policy/plan.ts';
import { tokenState } from './policy/state.ts';

/** A token and the registration that it was issued with. */
export interface Requested {
  readonly grant: Grant;
  /** True if the service account was re-created since the last token. */
  readonly isAccountNew: boolean;
  /** The Cluster as it was registered then. */
  readonly cluster: Cluster;
  /** Outputs that the credential of the token covers. */
  readonly outputs: OutputTarget;
}

/** Gets a token. When the account or the anchor is no longer what it was, once more for what it is now. Throws an IssueError. */
export async function requestToken(
  deps: TokenDeps,
  plan: IssuePlan,
  observation: TokenObservation,
  signal: AbortSignal,
): Promise<Requested> {
  const registered = registeredFor(deps, observation.token);
  return await deps.clients.use(registered, async (target) => {
    const issuedWith = { cluster: registered.cluster, outputs: outputsOf(observation.token, target.endpoints) };
    const asking = new Asking(deps, { plan, observation, target, signal });
    try {
      return { grant: await asking.first(), isAccountNew: false, ...issuedWith };
    } catch (error) {
      if (!(error instanceof IssueError) || !asking.isWorthAnother(error)) throw error;
      return { grant: await asking.again(), isAccountNew: error.reason === 'AccountRecreated', ...issuedWith };
    }
  });
}

/** Throws an IssueError while the target is not worth asking. */
export async function rejectIfOpen(deps: TokenDeps, token: ManagedToken): Promise<void> {
  await deps.clients.use(registeredFor(deps, token), async (target) => target.rejectIfOpen());
}

/** Throws an IssueError if no token could be issued and written, whatever the target said. Sends nothing. */
export function rejectUnusable(deps: TokenDeps, token: ManagedToken): void {
  outputsOf(token, deps.clients.endpointsOf(registeredFor(deps, token)));
}

function registeredFor({ view }: TokenDeps, { spec }: ManagedToken): RegisteredCluster {
  const registered = view.registered(spec.clusterName);
  if (registered === undefined) throw new IssueError('ClusterNotFound');
  return registered;
}

interface AskingOptions {
  readonly plan: IssuePlan;
  readonly observation: TokenObservation;
  readonly target: Target;
  readonly signal: AbortSignal;
}

class Asking {
  readonly #deps: TokenDeps;
  readonly #options: AskingOptions;

  constructor(deps: TokenDeps, options: AskingOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  async first(): Promise<Grant> {
    const { plan } = this.#options;
    if (plan.freshAnchor) await this.#deleteAnchor();
    return await this.#issue(plan.accountUID, (plan.freshAnchor ? undefined : this.#knownAnchor()) ?? (await this.#anchor()));
  }

  isWorthAnother({ reason }: IssueError): boolean {
    return reason === 'AccountRecreated' || (reason === 'BoundObjectNotFound' && this.#isRevocable);
  }

  async again(): Promise<Grant> {
    return await this.#issue(undefined, await this.#anchor());
  }

  async #issue(accountUID: string | undefined, anchorUID: string | undefined): Promise<Grant> {
    const { observation, target, signal } = this.#options;
    const details = { ...(accountUID && { accountUID }), ...(anchorUID && { anchorUID }) };
    return await issueToken(target, tokenRequestFor(observation.token, details, this.#deps.settings.limits), signal);
  }

  get #isRevocable(): boolean {
    return this.#options.observation.token.spec.revocation === 'BoundSecret';
  }

  /** Not asked for as long as there is no sign that it is gone: a renewal costs no more than any other. */
  #knownAnchor(): string | undefined {
    const { observation } = this.#options;
    if (!this.#isRevocable) return undefined;
    const { record, superseded, otherCredential, refused } = tokenState(observation, this.#deps.clock.now());
    if (superseded !== undefined || otherCredential || refused) return undefined;
    return recordedAnchor(observation.token, record)?.uid;
  }

  async #anchor(): Promise<string | undefined> {
    const { observation, target, signal } = this.#options;
    if (!this.#isRevocable) return undefined;
    return await ensureAnchor(target, this.#anchorName, observation.token.spec.serviceAccount.name, signal);
  }

  async #deleteAnchor(): Promise<void> {
    const { target, signal } = this.#options;
    await deleteAnchor(target, this.#anchorName, signal);
  }

  get #anchorName(): AnchorName {
    const { metadata, spec } = this.#options.observation.token;
    return { namespace: spec.serviceAccount.namespace, name: anchorName(metadata.uid ?? '') };
  }
}
