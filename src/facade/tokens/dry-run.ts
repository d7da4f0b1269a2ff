// A dry run of a token request: all checks that need no token. kube-apiserver would issue a token.

import { type ApiObject, Pods, type Resource, Secrets, ServiceAccounts } from '../../api/resources.ts';
import type { KubeObject } from '../../kubernetes/object.ts';
import {
  checkBoundKind,
  checkBoundObject,
  checkExpiration,
  checkName,
  checkObjectName,
  checkUid,
  type ServiceAccountName,
  toTokenResponse,
} from '../../kubernetes/token-request.ts';
import { fieldsOf, textOf, uidOf } from '../../kubernetes/untrusted.ts';
import { type Part, readObject } from '../../targets/read-object.ts';
import type { TokenSource } from '../../targets/target.ts';
import { checkServiceAccount } from '../../targets/token-exchange.ts';
import type { PostedTokenRequest } from './token-request.ts';

export interface DryRunOptions {
  readonly source: TokenSource;
  readonly serviceAccount: ServiceAccountName;
  /** Warns the caller about a check that was not possible. */
  readonly warn: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Returns the response to a dry run. Throws an IssueError, or the StatusError that the target would return. */
export async function dryRun(posted: PostedTokenRequest, options: DryRunOptions): Promise<KubeObject> {
  const { tokenRequest, audiences, expirationSeconds } = posted;
  const { source, serviceAccount, signal } = options;
  await checkServiceAccount(source, serviceAccount, signal);
  checkName(tokenRequest, serviceAccount);
  const uid = uidOf(await readOrWarn(ServiceAccounts, serviceAccount, 'metadata', options));
  if (uid !== undefined) checkUid(tokenRequest, { ...serviceAccount, uid });
  checkExpiration(tokenRequest);
  await checkBoundReference(tokenRequest.spec.boundObjectRef, options);
  const now = source.clock.now();
  const response = { serviceAccount: { ...serviceAccount, uid }, audiences, expirationSeconds, status: { token: '' } };
  return toTokenResponse(tokenRequest, response, now);
}

async function checkBoundReference(
  reference: PostedTokenRequest['tokenRequest']['spec']['boundObjectRef'],
  options: DryRunOptions,
): Promise<void> {
  if (reference === undefined) return;
  const { kind = '', name = '' } = reference;
  checkBoundKind(reference, [Pods.kind, Secrets.kind]);
  checkObjectName(name);
  const { namespace, name: serviceAccount } = options.serviceAccount;
  const found =
    kind === Pods.kind
      ? readOrWarn(Pods, { namespace, name }, 'whole', options)
      : readOrWarn(Secrets, { namespace, name }, 'metadata', options);
  const object = await found;
  if (object === undefined) return;
  const serviceAccountName = textOf(fieldsOf(object['spec'])['serviceAccountName']);
  checkBoundObject(reference, { uid: uidOf(object) ?? '', serviceAccountName }, serviceAccount);
}

async function readOrWarn(resource: Resource<ApiObject>, name: ServiceAccountName, part: Part, { source, warn, signal }: DryRunOptions) {
  const object = await readObject(source, resource, name, { part, signal });
  if (object === undefined) warn(`existence not checked: Purser may not read ${resource.plural} of the cluster`);
  return object;
}
