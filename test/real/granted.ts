// What roles grant an account, beside what it used of that by the API server's audit log.

import { readFile } from 'node:fs/promises';

/** A verb on a resource, or on what is below it, such as `create serviceaccounts/token`. */
export type Use = string;

export interface Rule {
  readonly resources?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
  readonly responseStatus?: { readonly code?: number };
}

export interface AccountUse {
  readonly used: ReadonlySet<Use>;
  /** Requests that were refused for want of a right. */
  readonly refused: readonly string[];
}

interface RoleLike {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/** The rules of the roles with these names. */
export function rulesOf(objects: readonly RoleLike[], names: readonly string[]): readonly Rule[] {
  const roles = objects.filter(({ kind, metadata }) => kind.endsWith('Role') && names.includes(metadata.name));
  return roles.flatMap((role) => ('rules' in role ? (role.rules as readonly Rule[]) : []));
}

/** What is granted and was not used. */
export function unused(granted: ReadonlySet<Use>, { used }: AccountUse): readonly Use[] {
  return [...granted].filter((each) => !used.has(each)).sort();
}

/** Everything that the rules allow, one by one. */
export function grantedBy(rules: readonly Rule[]): ReadonlySet<Use> {
  return new Set(rules.flatMap(({ resources = [], verbs }) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`))));
}

/** What an account asked of an API server. */
export async function useOf(auditLog: string, account: string): Promise<AccountUse> {
  const lines = (await readFile(auditLog, 'utf8')).split('\n').filter((line) => line !== '');
  const events = lines.map((line) => JSON.parse(line) as AuditEvent).filter(({ user }) => user.username === account);
  // A watch that goes on has no last stage yet.
  const answered = events.filter(({ stage }) => stage === 'ResponseComplete' || stage === 'ResponseStarted');
  return {
    used: new Set(
      answered.filter(({ objectRef }) => objectRef !== undefined).map(({ verb, objectRef }) => `${verb} ${resourceOf(objectRef)}`),
    ),
    refused: answered.filter(({ responseStatus }) => responseStatus?.code === 403).map(({ verb, requestURI }) => `${verb} ${requestURI}`),
  };
}

function resourceOf({ resource, subresource }: NonNullable<AuditEvent['objectRef']> = {}): string {
  return [resource, subresource].filter(Boolean).join('/');
}
