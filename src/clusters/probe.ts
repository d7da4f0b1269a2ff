// One look at a cluster over the wire: whether it answers as ready, and now and then its version and what we may do there.

import { accessDecision } from '../access/access-decision.ts';
import type { CallOptions, KubeClient } from '../kube/client.ts';
import { toStatusError } from '../kube/response.ts';
import { SelfSubjectAccessReviews } from '../kube/reviews.ts';
import { StatusError } from '../kubernetes/status.ts';
import { findUsername } from '../targets/identity.ts';
import { IssueError } from '../targets/issue-error.ts';
import type { Asker, Target } from '../targets/target.ts';
import { faultOf, rightsFault } from './faults.ts';
import { type IssuingRights, narrowRights } from './policy/issuing-rights.ts';
import type { Fault } from './policy/reading.ts';
import { versionText } from './policy/version.ts';

/** What a probe looks at. */
export interface ProbeScope {
  /** Whether a failure is made sure of by asking once more. */
  readonly isTriedTwice: boolean;
  /** Whether version, identity and rights are asked for, too. */
  readonly isDeep: boolean;
  /** Where tokens are wanted: asked about only without the right to issue them everywhere. */
  readonly namespaces: () => readonly string[];
}

/** What a probe found out. */
export interface ProbeResult {
  /** Of `/readyz`; undefined when the cluster is ready. */
  readonly fault?: Fault | undefined;
  /** Of identity and rights, where they were looked at. */
  readonly access?: IssuingRights | undefined;
  /** The version, where it was told. */
  readonly version?: string | undefined;
}

/** Asks the target. Throws only when `signal` aborts, or for a defect. */
export async function probe(target: Target, { isTriedTwice, isDeep, namespaces }: ProbeScope, signal: AbortSignal): Promise<ProbeResult> {
  const asker = target.prober(DEADLINE_MS);
  const first = await readiness(asker, signal);
  const fault = first !== undefined && isTriedTwice ? await readiness(asker, signal) : first;
  const isAnswered = fault === undefined || fault.reason === 'NotReady';
  if (!isDeep || !isAnswered) return { fault };
  // One after the other: in a fleet, a second connection to every cluster would cost more than all the rest.
  const access = await accessOf(asker, namespaces, signal);
  return { fault, access, version: await versionOf(asker, signal) };
}

const DEADLINE_MS = 5_000;

async function readiness(asker: Asker, signal: AbortSignal): Promise<Fault | undefined> {
  try {
    return await asker.call(askReadiness, signal);
  } catch (error) {
    signal.throwIfAborted();
    return faultOf(error);
  }
}

async function askReadiness({ transport }: KubeClient, options: CallOptions): Promise<Fault | undefined> {
  const reply = await transport.request({ method: 'GET', path: '/readyz', headers: { accept: '*/*' }, ...options });
  if (reply.status >= 200 && reply.status < 300) return undefined;
  if (reply.status === 500) return { reason: 'NotReady', detail: failedChecks(reply.body) };
  const refusal = toStatusError(reply);
  // Who may not look at it is known to the cluster nevertheless.
  if (refusal.code === 403 && !refusal.message.includes('system:anonymous')) return undefined;
  throw refusal;
}

/** The names of the checks that failed, from the list that the API server answers with. */
function failedChecks(body: string): string {
  const names = [...body.slice(0, 8_192).matchAll(/^\[-\]([\w./-]{1,63}) /gm)].map(([, name]) => name);
  return names.length === 0 ? '' : `failing are ${names.slice(0, 5).join(', ')}`;
}

/** Not knowing the version is no fault. */
async function versionOf(asker: Asker, signal: AbortSignal): Promise<string | undefined> {
  try {
    const text = await asker.call((client, options) => client.getText('/version', options), signal);
    return versionText((JSON.parse(text) as { readonly gitVersion?: unknown } | null)?.gitVersion);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SyntaxError || error instanceof IssueError || error instanceof StatusError) return undefined;
    throw error;
  }
}

async function accessOf(asker: Asker, namespaces: () => readonly string[], signal: AbortSignal): Promise<IssuingRights> {
  try {
    const username = await findUsername(asker, signal);
    if (await mayIssue(asker, {}, signal)) return {};
    const answers: boolean[] = [];
    for (const namespace of namespaces()) answers.push(await mayIssue(asker, { namespace }, signal));
    return narrowRights(username, answers);
  } catch (error) {
    signal.throwIfAborted();
    return { fault: rightsFault(error) };
  }
}

/** Without a namespace: in all of them. */
async function mayIssue(asker: Asker, where: { readonly namespace?: string }, signal: AbortSignal): Promise<boolean> {
  const spec = { resourceAttributes: { verb: 'create', resource: 'serviceaccounts', subresource: 'token', ...where } };
  const review: unknown = await asker.call((client, options) => client.createReview(SelfSubjectAccessReviews, { spec }, options), signal);
  return accessDecision(review)?.allowed === true;
}
