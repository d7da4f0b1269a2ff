// A dry run: everything that can be checked without issuing a token. Kubernetes itself would issue one.

import { type ApiObject, Pods, type Resource, Secrets, ServiceAccounts } from '../../api/resources.ts';
import { checkBoundKind, checkBoundObject, checkObjectName } from '../../kubernetes/bound-object.ts';
import type { KubeObject } from '../../kubernetes/object.ts';
import { answeredTokenRequest, checkExpiration, checkName, checkUid, type PostedAccount } from '../../kubernetes/token-request.ts';
import { fieldsOf, textOf, uidOf } from '../../kubernetes/untrusted.ts';
import { type Part, readObject } from '../../targets/read-object.ts';
import type { TokenSource } from '../../targets/target.ts';
import { rejectAccount } from '../../targets/token-exchange.ts';
import type { PostedTokenRequest } from './token-request.ts';

/** Where and for whom something is rehearsed. */
export interface Stage {
  readonly target: TokenSource;
  readonly account: PostedAccount;
  /** Tells the caller what could not be checked. */
  readonly warn: (text: string) => void;
  readonly signal: AbortSignal;
}

/** The answer to a dry run. Throws an IssueError, or a StatusError for what the target would refuse. */
export async function rehearse({ request, audiences, expirationSeconds }: PostedTokenRequest, stage: Stage): Promise<KubeObject> {
  const { target, account, signal } = stage;
  await rejectAccount(target, account, signal);
  checkName(request, account);
  const uid = uidOf(await find(ServiceAccounts, account, 'metadata', stage));
  if (uid !== undefined) checkUid(request, { ...account, uid });
  checkExpiration(request);
  await checkBound(request.spec.boundObjectRef, stage);
  const now = target.clock.now();
  const added = { account: { ...account, uid }, audiences, expirationSeconds, status: { token: '' } };
  return answeredTokenRequest(request, added, now);
}

async function checkBound(reference: PostedTokenRequest['request']['spec']['boundObjectRef'], stage: Stage): Promise<void> {
  if (reference === undefined) return;
  const { kind = '', name = '' } = reference;
  checkBoundKind(reference, [Pods.kind, Secrets.kind]);
  checkObjectName(name);
  const { namespace, name: account } = stage.account;
  const found =
    kind === Pods.kind ? find(Pods, { namespace, name }, 'whole', stage) : find(Secrets, { namespace, name }, 'metadata', stage);
  const object = await found;
  if (object === undefined) return;
  const serviceAccountName = textOf(fieldsOf(object['spec'])['serviceAccountName']);
  checkBoundObject(reference, { uid: uidOf(object) ?? '', serviceAccountName }, account);
}

async function find(resource: Resource<ApiObject>, name: PostedAccount, part: Part, { target, warn, signal }: Stage) {
  const object = await readObject(target, resource, name, { part, signal });
  if (object === undefined) warn(`existence not checked: Purser may not read ${resource.plural} of the cluster`);
  return object;
}
