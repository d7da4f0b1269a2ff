// What a caller is told when the target issues no token: what concerns them in the target's words, the rest in ours.

import type { IssueTarget } from '../../access/issue-permission.ts';
import { RegistryGroup } from '../../api/names.ts';
import { FailureReason } from '../../api/reasons.ts';
import { forbidden, notFound, type Status, StatusError, statusError } from '../../kubernetes/status.ts';
import { goQuote } from '../../std/go-text.ts';
import { IssueError } from '../../targets/issue-error.ts';

/** The error that the caller gets for `error`. Nothing that is wrong with Purser's own credential is passed on as theirs. */
export function refusalOf(error: unknown, { cluster, serviceAccount }: IssueTarget): unknown {
  if (!(error instanceof IssueError)) return error;
  const { reason, status, retryAfterMs = RETRY_MS } = error;
  const retryAfterSeconds = Math.ceil(retryAfterMs / 1000);
  if (status !== undefined) return relayed(status, retryAfterSeconds);
  if (reason === 'ClusterNotFound') return notFound({ group: RegistryGroup, name: 'clusters' }, cluster);
  const why = (FailureReason as Readonly<Record<string, string>>)[reason] ?? reason;
  if (reason === 'OwnAccount' || reason === 'NamespaceNotAllowed')
    return forbidden({ group: '', name: 'serviceaccounts' }, serviceAccount, why);
  const message = `the cluster ${goQuote(cluster)} issues no token at present: ${why}`;
  const causes = [{ reason, message: why }];
  if (reason === 'ClusterTimeout') return statusError('Timeout', `Timeout: ${message}`, { causes });
  return statusError('ServiceUnavailable', message, { causes, retryAfterSeconds });
}

const RETRY_MS = 5_000;

/** The target's words; how long it wants to be left alone is limited. */
function relayed(status: Status, retryAfterSeconds: number): StatusError {
  if (status.details?.retryAfterSeconds === undefined && status.code !== 429) return new StatusError(status);
  return new StatusError({ ...status, details: { ...status.details, retryAfterSeconds } });
}
