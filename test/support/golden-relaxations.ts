// Differences that a replay of `resources.json` accepts: the order of validation errors and of rules, which is random in kube-apiserver;
// details of the build and of the signing key; and resources that only kube-apiserver serves.

import type { Recording, Relaxation } from './golden.ts';

/** Returns the relaxation for the response of a recording; undefined if it must be equal. */
export function findRelaxation({ name, response }: Recording): Relaxation | undefined {
  const relax = BY_NAME[name] ?? (response.status === 422 ? (recorded, actual) => [sortErrors(recorded), sortErrors(actual)] : undefined);
  return relax && ((recorded, actual) => (isJson(recorded) === isJson(actual) ? relax(recorded, actual) : [recorded, actual]));
}

interface ResourceList {
  readonly resources: readonly { readonly name: string }[];
}

interface GroupList {
  readonly items: readonly Group[];
}

interface Group {
  readonly metadata: { readonly name: string };
  readonly versions: readonly { readonly version: string; readonly resources: readonly { readonly resource: string }[] }[];
}

interface OpenApiRoot {
  readonly paths: Readonly<Record<string, unknown>>;
}

interface Status {
  readonly message: string;
  readonly details?: { readonly causes?: readonly { readonly field: string; readonly message: string }[] };
}

interface RulesReview {
  readonly status: Readonly<Record<'resourceRules' | 'nonResourceRules', readonly unknown[]>>;
}

/** Resources that every server serves. */
const REQUIRED = new Set(
  [
    'configmaps events namespaces namespaces/status nodes pods secrets serviceaccounts serviceaccounts/token',
    'apiextensions.k8s.io authentication.k8s.io authorization.k8s.io coordination.k8s.io rbac.authorization.k8s.io example.dev',
    'api/v1 apis/rbac.authorization.k8s.io/v1 apis/example.dev/v1alpha1',
  ].flatMap((names) => names.split(' ')),
);

/** Fields of the build, which differ between servers of the same version. */
const BUILD = new Set(['buildDate', 'compiler', 'gitCommit', 'gitTreeState', 'goVersion', 'platform']);

const BY_NAME: Readonly<Record<string, Relaxation>> = {
  'apis-v1': (recorded, actual) => {
    const [list, served] = both<ResourceList>(recorded, actual);
    const resources = list.resources.filter(({ name }) => REQUIRED.has(name) || served.resources.some((other) => other.name === name));
    return [line({ ...list, resources }), actual];
  },
  'aggregated-apis': (recorded, actual) => {
    const [list, served] = both<GroupList>(recorded, actual);
    return [line({ ...list, items: servedGroups(list.items, served.items) }), actual];
  },
  'openapi-v3-root': (recorded, actual) => {
    const [root, served] = both<OpenApiRoot>(recorded, actual);
    const paths = Object.fromEntries(Object.entries(root.paths).filter(([path]) => REQUIRED.has(path) || path in served.paths));
    return [JSON.stringify({ paths }), actual];
  },
  version: (recorded, actual) => {
    const [version, served] = both<Readonly<Record<string, string>>>(recorded, actual);
    const build = Object.fromEntries(Object.entries(served).filter(([key]) => BUILD.has(key)));
    return [JSON.stringify({ ...version, ...build }, null, 2), actual];
  },
  'crd-create': (recorded, actual) => [sortKeys(recorded), sortKeys(actual)],
  'crd-delete': (recorded, actual) => [sortKeys(recorded), sortKeys(actual)],
  jwks: (recorded, actual) => [withoutKeyType(recorded), withoutKeyType(actual)],
  'oidc-discovery': (recorded, actual) => [withoutKeyType(recorded), withoutKeyType(actual)],
  livez: (recorded, actual) => [withoutChecks(recorded), withoutChecks(actual)],
  ssrr: (recorded, actual) => [sortRules(recorded), sortRules(actual)],
};

function servedGroups(recorded: readonly Group[], served: readonly Group[]): readonly Group[] {
  return recorded.flatMap((group) => {
    const other = served.find(({ metadata }) => metadata.name === group.metadata.name);
    if (other === undefined) return REQUIRED.has(group.metadata.name) ? [group] : [];
    return [{ ...group, versions: servedVersions(group.versions, other.versions) }];
  });
}

function servedVersions(recorded: Group['versions'], served: Group['versions']): Group['versions'] {
  return recorded.flatMap((version) => {
    const other = served.find((candidate) => candidate.version === version.version);
    if (other === undefined) return [];
    const resources = version.resources.filter(({ resource }) => other.resources.some((candidate) => candidate.resource === resource));
    return [{ ...version, resources }];
  });
}

/** Removes the values that depend on the type of the signing key: RSA for kube-apiserver, ECDSA for the embedded server. */
function withoutKeyType(document: string): string {
  return document.replace(/,?"(kty|kid|alg|crv|n|e|x|y)":"[^"]*"/g, '').replace(/"[RE]S256"/, '');
}

/** Removes the passed health checks, which differ between servers. */
function withoutChecks(report: string): string {
  return report.replace(/^\[\+\].+ ok\n/gm, '');
}

function sortErrors(body: string): string {
  const status = JSON.parse(body) as Status;
  const causes = status.details?.causes ?? [];
  const errors = causes.map(({ field, message }) => `${field}: ${message}`);
  const listed = `[${errors.join(', ')}]`;
  if (!status.message.endsWith(listed)) return body;
  const message = `${status.message.slice(0, -listed.length)}[${errors.toSorted().join(', ')}]`;
  return line({ ...status, message, details: { ...status.details, causes: sortByJson(causes) } });
}

/** Sorts the keys of all objects: the embedded server keeps the client's order of keys in schemas. */
function sortKeys(body: string): string {
  return JSON.stringify(JSON.parse(body), (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(sortByJson(Object.entries(value))) : value,
  );
}

function sortRules(body: string): string {
  const { status, ...rest } = JSON.parse(body) as RulesReview;
  const { resourceRules, nonResourceRules } = status;
  return line({ ...rest, status: { ...status, resourceRules: sortByJson(resourceRules), nonResourceRules: sortByJson(nonResourceRules) } });
}

function sortByJson<T>(values: readonly T[]): readonly T[] {
  return values.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function both<T>(recorded: string, actual: string): readonly [T, T] {
  return [JSON.parse(recorded) as T, JSON.parse(actual) as T];
}

/** Returns true for a text that is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
