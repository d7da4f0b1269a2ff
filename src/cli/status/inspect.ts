// Reads what the chain of a ManagedToken is checked with, by the permissions of the user.

import { reviewAccess, tokenReviewStatus } from '../../access/hub-review.ts';
import { exactName, issueNames, PROTECTED_NAMESPACES, reviewIssue } from '../../access/issue-permission.ts';
import { serviceAccountUser } from '../../access/user.ts';
import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { Clusters, ManagedTokens, Secrets, ServiceAccounts, type Stored } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { ObjectName } from '../../kube/paths.ts';
import { TokenReviews } from '../../kube/reviews.ts';
import { hasReason, undefinedFor } from '../../kubernetes/status.ts';
import { secretNameOf } from '../../tokens/policy/secret.ts';
import { CommandError } from '../command.ts';
import { type Checked, type Evidence, textOf } from './chain.ts';

export interface Inspection {
  readonly hub: KubeClient;
  /** Client of the target cluster; undefined if the user named no context for it. */
  readonly target: KubeClient | undefined;
  readonly name: ObjectName & { readonly namespace: string };
}

/** Reads the evidence for a ManagedToken. Throws a CommandError if there is no such ManagedToken. */
export async function inspect({ hub, target, name }: Inspection): Promise<Evidence> {
  const token = await undefinedFor(hub.get(ManagedTokens, name), 'NotFound');
  if (token === undefined)
    throw new CommandError(`ManagedToken ${name.namespace}/${name.name} was not found; list them with kubectl get managedtokens -A`);
  const { namespace } = token.metadata;
  const { spec } = token;
  const [hasRequester, issueName, cluster, account, secret] = await Promise.all([
    check(
      `get on serviceaccounts in namespace ${namespace}`,
      async () => (await found(hub.get(ServiceAccounts, requesterOf(token)))) !== undefined,
    ),
    check('create on subjectaccessreviews.authorization.k8s.io', () => reviewPermission(hub, token)),
    check(`get on clusters.registry.purser.dev named ${spec.clusterName}`, () => found(hub.get(Clusters, { name: spec.clusterName }))),
    onTarget(target, `get on serviceaccounts in namespace ${spec.serviceAccount.namespace} of the target`, (client) =>
      found(client.get(ServiceAccounts, spec.serviceAccount)),
    ),
    check(`get on secrets in namespace ${namespace}`, () => found(hub.get(Secrets, { namespace, name: secretNameOf(token) }))),
  ]);
  const text = 'value' in secret ? textOf(secret.value) : '';
  const isAccepted = await onTarget(target, 'create on tokenreviews.authentication.k8s.io of the target', (client) =>
    reviewToken(client, text, spec.audiences ?? []),
  );
  return { token, hasRequester, issueName, exactName: exactName(issueTargetOf(token)), cluster, account, secret, isAccepted };
}

function requesterOf({ metadata, spec }: Stored<ManagedToken>): ObjectName {
  return { namespace: metadata.namespace, name: spec.requesterServiceAccountName };
}

function issueTargetOf({ spec }: Stored<ManagedToken>) {
  return { cluster: spec.clusterName, namespace: spec.serviceAccount.namespace, serviceAccount: spec.serviceAccount.name };
}

async function reviewPermission(hub: KubeClient, token: Stored<ManagedToken>): Promise<string | undefined> {
  const user = serviceAccountUser(token.metadata.namespace, token.spec.requesterServiceAccountName);
  const names = issueNames(issueTargetOf(token), undefined, PROTECTED_NAMESPACES);
  return await reviewIssue(names, async (attributes) => (await reviewAccess(hub, user, attributes)).allowed);
}

/** Sends the token to no address but that of the user's own context. */
async function reviewToken(target: KubeClient, token: string, audiences: readonly string[]): Promise<boolean | undefined> {
  if (token === '') return undefined;
  const review = target.createReview(TokenReviews, { spec: { token, audiences: [...audiences] } });
  return (await tokenReviewStatus(review)).authenticated;
}

async function onTarget<T>(target: KubeClient | undefined, needs: string, read: (client: KubeClient) => Promise<T>): Promise<Checked<T>> {
  return target === undefined ? { needs: '--target-context' } : await check(needs, () => read(target));
}

/** Returns the result of a check, or what the user lacks for it. */
async function check<T>(needs: string, read: () => Promise<T>): Promise<Checked<T>> {
  try {
    return { value: await read() };
  } catch (error) {
    if (hasReason(error, 'Forbidden', 'Unauthorized')) return { needs };
    throw error;
  }
}

function found<T>(request: Promise<T>): Promise<T | undefined> {
  return undefinedFor(request, 'NotFound');
}
