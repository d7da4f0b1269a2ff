// Compares the permissions that RBAC grants to a service account with those that it used, from the audit log of the API server.

import { readFile } from 'node:fs/promises';

/** Permission for one verb on one resource, in one or all namespaces, for one or all names. */
export interface Grant {
  readonly role: string;
  readonly verb: string;
  readonly group: string;
  /** Resource with its subresource, such as `serviceaccounts/token`. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

export interface PermissionUse {
  readonly used: readonly Use[];
  /** Requests that were rejected with 403. */
  readonly rejected: readonly string[];
}

type Use = Omit<Grant, 'role'>;

interface ManifestObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface Role extends ManifestObject {
  readonly rules: readonly {
    readonly apiGroups?: readonly string[];
    readonly resources?: readonly string[];
    readonly resourceNames?: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

interface Binding extends ManifestObject {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly kind: string; readonly name: string }[];
}

/** Returns the permissions that bindings among these objects grant to a service account. */
export function findGrants(objects: readonly ManifestObject[], account: string): readonly Grant[] {
  const bindings = objects.filter((object): object is Binding => object.kind.endsWith('RoleBinding'));
  const bound = bindings.filter(({ subjects }) => subjects.some(({ kind, name }) => kind === 'ServiceAccount' && name === account));
  return bound.flatMap(({ metadata: { namespace }, roleRef }) => {
    const isRole = ({ kind, metadata }: ManifestObject) =>
      kind === roleRef.kind && metadata.name === roleRef.name && (kind === 'ClusterRole' || metadata.namespace === namespace);
    return objects.filter((object): object is Role => isRole(object)).flatMap((role) => toGrants(role, namespace));
  });
}

function toGrants({ metadata, rules }: Role, namespace: string | undefined): readonly Grant[] {
  return rules.flatMap(({ apiGroups = [], resources = [], resourceNames = [undefined], verbs }) =>
    verbs.flatMap((verb) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => resourceNames.map((name) => ({ role: metadata.name, verb, group, resource, namespace, name }))),
      ),
    ),
  );
}

/** Describes granted permissions that were not used. A used watch includes list, because not every hub supports WatchList. */
export function findUnused(grants: readonly Grant[], { used }: PermissionUse): readonly string[] {
  const needed = new Set(used.flatMap((use) => findNarrowest(grants.filter((grant) => covers(grant, use)))));
  const isWatched = (grant: Grant) => [...needed].some((other) => describeGrant(other) === describeGrant({ ...grant, verb: 'watch' }));
  return grants
    .filter((grant) => !needed.has(grant) && !(grant.verb === 'list' && isWatched(grant)))
    .map(describeGrant)
    .sort();
}

function covers(grant: Grant, use: Use): boolean {
  const isSame = grant.verb === use.verb && grant.group === use.group && grant.resource === use.resource;
  return isSame && (grant.namespace ?? use.namespace) === use.namespace && (grant.name ?? use.name) === use.name;
}

/** Returns the narrowest of the permissions that cover a request. */
function findNarrowest(grants: readonly Grant[]): readonly Grant[] {
  const width = ({ namespace, name }: Grant) => (namespace === undefined ? 2 : 0) + (name === undefined ? 1 : 0);
  const least = Math.min(...grants.map(width));
  return grants.filter((grant) => width(grant) === least);
}

function describeGrant({ role, verb, resource, namespace, name }: Grant): string {
  return [verb, resource, ...(name === undefined ? [] : [name]), ...(namespace === undefined ? [] : ['in', namespace]), `(${role})`].join(
    ' ',
  );
}

interface AuditEvent {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: Readonly<Partial<Record<'apiGroup' | 'resource' | 'subresource' | 'namespace' | 'name', string>>>;
  readonly responseStatus?: { readonly code?: number };
}

/** Reads the requests of a service account from an audit log. */
export async function readUse(auditLog: string, account: string): Promise<PermissionUse> {
  const lines = (await readFile(auditLog, 'utf8')).split('\n').filter((line) => line !== '');
  const events = lines.map((line) => JSON.parse(line) as AuditEvent).filter(({ user }) => user.username === account);
  // An open watch has no ResponseComplete stage yet.
  const completed = events.filter(({ stage }) => stage === 'ResponseComplete' || stage === 'ResponseStarted');
  return {
    used: completed.flatMap((event) => (event.objectRef === undefined ? [] : [toUse(event.verb, event.objectRef)])),
    rejected: completed.filter(({ responseStatus }) => responseStatus?.code === 403).map(({ verb, requestURI }) => `${verb} ${requestURI}`),
  };
}

function toUse(verb: string, { apiGroup, resource, subresource, namespace, name }: NonNullable<AuditEvent['objectRef']>): Use {
  return { verb, group: apiGroup ?? '', resource: [resource, subresource].filter(Boolean).join('/'), namespace, name };
}
