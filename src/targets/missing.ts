// What a token needs on the target and what is not there, each with what to do about it: the target names neither namespace nor remedy.

import type { StatusError } from '../kubernetes/status.ts';
import { IssueError, type IssueErrorOptions } from './issue-error.ts';
import type { BoundObject, TokenRequest } from './policy/token-request.ts';

/** The failure for want of the account. */
export function accountMissing({ namespace, name }: Pick<TokenRequest, 'namespace' | 'name'>, options?: IssueErrorOptions): IssueError {
  const text = `the cluster has no ${namespace}/${name}. Create it there, or change spec.serviceAccount`;
  return new IssueError('ServiceAccountNotFound', text, options);
}

/** The failure for want of the object to bind to: `refusal` says that there is none, or that it is another one. */
export function boundObjectMissing(namespace: string, { kind, name }: BoundObject, { code, status }: StatusError): IssueError {
  const text =
    code === 404
      ? `the cluster has no ${kind} ${namespace}/${name}. Create it there, or change spec.boundObjectRef`
      : `the ${kind} ${namespace}/${name} has another UID. Change spec.boundObjectRef.uid, or leave it out`;
  return new IssueError('BoundObjectNotFound', text, { status });
}
