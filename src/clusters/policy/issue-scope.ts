// Where Purser may issue tokens on a cluster: everywhere, or in some of the namespaces that ManagedTokens name.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import type { Fault } from './conditions.ts';

/** What was found out of the rights of our credential. */
export interface IssuingRights {
  readonly fault?: Fault | undefined;
  /** Where tokens can be issued, for people; absent for everywhere. */
  readonly scope?: string | undefined;
}

/** Each namespace is a question to the cluster, every time that rights are looked at. */
const MAX_NAMESPACES = 10;

/** The namespaces to ask about where the right is not for all of them: those first that tokens were issued for before. */
export function namespacesToAsk(tokens: readonly ManagedToken[]): readonly string[] {
  const isIssued = ({ status }: ManagedToken) => status?.issuedAt !== undefined;
  const [issued, others] = [tokens.filter(isIssued), tokens.filter((token) => !isIssued(token))].map(namespacesOf);
  return [...new Set([...(issued ?? []), ...(others ?? [])])].slice(0, MAX_NAMESPACES);
}

/**
 * The rights of a user without that for all namespaces, by what it may in each that was asked about. One is enough: whoever
 * names a namespace without rights harms no token but his own.
 */
export function narrowRights(username: string, answers: readonly boolean[]): IssuingRights {
  const allowed = answers.filter(Boolean).length;
  if (allowed === 0) return { fault: { reason: 'Forbidden', detail: username } };
  const namespaces = answers.length === 1 ? 'namespace' : 'namespaces';
  return {
    scope: allowed === answers.length ? `in ${allowed} ${namespaces}` : `in ${allowed} of ${answers.length} ${namespaces} asked about`,
  };
}

function namespacesOf(tokens: readonly ManagedToken[]): readonly string[] {
  return tokens.map(({ spec }) => spec.serviceAccount.namespace).sort();
}
