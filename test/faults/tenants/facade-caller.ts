// Grammar of the hostile caller of the façade, who has permission `issue` for one service account, one restricted cluster and one name
// that is not registered: requests for all service accounts, malformed requests, lists and watches.

import type { Action, Draw, Grammar, Production } from './grammar.ts';
import {
  ACCOUNT_NAMESPACES,
  ACCOUNTS,
  ALL_CLUSTERS,
  AUDIENCES,
  DEPLOYER,
  GUESTS,
  HOSTILE_NAMESPACES,
  POLITE,
  SANDBOX,
  VICTIMS,
} from './names.ts';

const CLUSTERS = [...ALL_CLUSTERS, 'two-dev', 'dev', 'dev'];

interface RequestedAccount {
  readonly cluster: string;
  readonly namespace: string;
  readonly account: string;
}

/** Service accounts that exist on the targets. */
const LIKELY_ACCOUNTS = [
  { namespace: SANDBOX, account: 'default' },
  { namespace: 'deploy', account: DEPLOYER },
  { namespace: 'deploy', account: 'one-1' },
  { namespace: 'purser-system', account: 'purser' },
  { namespace: 'kube-system', account: 'default' },
] as const;

function drawAccount(draw: Draw): RequestedAccount {
  if (draw.chance(0.2)) return { cluster: 'one', namespace: 'deploy', account: DEPLOYER };
  if (draw.chance(0.3)) return { cluster: draw.pick(['dev', 'two-dev']), ...draw.pick(LIKELY_ACCOUNTS) };
  return { cluster: draw.pick(CLUSTERS), namespace: draw.pick(ACCOUNT_NAMESPACES), account: draw.pick(ACCOUNTS) };
}

function buildPath({ cluster, namespace, account }: RequestedAccount): string {
  return `/orchestrator/${cluster}/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
}

function drawBody(draw: Draw): object {
  const bound = draw.chance(0.1) && {
    boundObjectRef: { apiVersion: 'v1', kind: draw.pick(['Pod', 'Secret', 'Node']), name: draw.pick(ACCOUNTS) },
  };
  const spec = {
    audiences: draw.chance(0.05) ? [] : [...new Set([draw.pick(AUDIENCES), draw.pick(AUDIENCES)])],
    expirationSeconds: draw.pick([600, 3_600, 3_607, 86_400, 2 ** 31, 2 ** 32, -1, 0]),
    ...bound,
  };
  const metadata = draw.chance(0.2) && { metadata: { namespace: 'purser-system', name: 'purser' } };
  return { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec, ...metadata };
}

function request(label: string, path: string, body: object, headers: Action['headers'] = {}): Action {
  return { label, method: 'POST', path, body, headers };
}

const issue: Production = (draw) => {
  const requested = drawAccount(draw);
  const query = draw.pick(['', '', '', '?dryRun=All', '?dryRun=None', '?fieldValidation=Strict', '?fieldManager=x', '?pretty=true']);
  const { cluster, namespace, account } = requested;
  return [request(`issue ${cluster}/${namespace}/${account}`, `${buildPath(requested)}${query}`, drawBody(draw))];
};

const oddPath: Production = (draw) => {
  const { cluster, namespace, account } = drawAccount(draw);
  const name = draw.pick([
    `one%2f..%2f${cluster}`,
    `${cluster}/../one`,
    `./${cluster}`,
    `${cluster}%00`,
    `${cluster}//`,
    cluster.toUpperCase(),
    `${cluster}%20`,
    `one?x=/${cluster}`,
  ]);
  const path = draw.pick([
    `/orchestrator/${name}/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    `/orchestrator/one/api/v1/namespaces/deploy/serviceaccounts/${DEPLOYER}%2ftoken/../../${namespace}/${account}/token`,
    `/orchestrator/one/api/v1/namespaces/deploy/serviceaccounts/..%2f..%2f${namespace}%2fserviceaccounts%2f${account}/token`,
    `/orchestrator/${cluster}/api/v1/secrets`,
    `/orchestrator/${cluster}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`,
    `//orchestrator/${cluster}/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
  ]);
  return [request('odd path', path, drawBody(draw))];
};

const oddHeaders: Production = (draw) => {
  const headers = draw.pick([
    { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' },
    { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' },
    { 'x-forwarded-for': '10.0.0.1', forwarded: 'for=10.0.0.1' },
    { 'content-type': 'application/yaml' },
    { 'content-type': 'application/vnd.kubernetes.protobuf' },
    { 'x-http-method-override': 'GET' },
    TABLE,
  ] as const);
  return [request('odd headers', buildPath(drawAccount(draw)), drawBody(draw), headers)];
};

const TOKEN_NAMESPACES = [POLITE, GUESTS, VICTIMS, ...HOSTILE_NAMESPACES, 'kube-system'] as const;

/** Returns the path of a list: of Clusters, or of ManagedTokens in all namespaces or of one. */
function drawList(draw: Draw): string {
  const namespace = draw.pick(TOKEN_NAMESPACES);
  return draw.pick(['/auth/v1/clusters', '/auth/v1/managedtokens', `/auth/v1/namespaces/${namespace}/managedtokens`]);
}

const SELECTORS = [
  'labelSelector=env%3Dprod',
  'labelSelector=!env',
  'fieldSelector=metadata.name%3Dtwo-prod',
  'fieldSelector=metadata.name%3Dpolite-1',
  `fieldSelector=metadata.namespace%3D${GUESTS}`,
  'fieldSelector=spec.clusterName%3Done',
] as const;

const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

const list: Production = (draw) => {
  const query = draw.pick([
    '',
    'limit=1',
    draw.pick(SELECTORS),
    draw.pick(SELECTORS),
    'continue=forged',
    'resourceVersion=99999999999',
    'resourceVersion={version}&resourceVersionMatch=Exact',
    'timeoutSeconds=1',
  ]);
  return [{ label: 'list', method: 'GET', path: `${drawList(draw)}?${query}`, ...(draw.chance(0.2) && { headers: TABLE }) }];
};

const get: Production = (draw) => {
  const name = draw.pick(['polite-1', 'guest-1', 'guest-2', 'victim-1', 'mt-1', 'missing']);
  const token = `/auth/v1/namespaces/${draw.pick(TOKEN_NAMESPACES)}/managedtokens/${name}`;
  return [{ label: 'get', method: 'GET', path: draw.pick([`/auth/v1/clusters/${draw.pick(CLUSTERS)}`, token, token]) }];
};

/** Lists a page, and continues it, or any list of another tenant, on the same or another path. */
const pages: Production = (draw) => {
  const path = drawList(draw);
  const selector = draw.chance(0.3) ? `&${draw.pick(SELECTORS)}` : '';
  const next = draw.chance(0.8) ? path : drawList(draw);
  return [
    { label: 'page', method: 'GET', path: `${path}?limit=${draw.between(1, 3)}${selector}` },
    { label: 'further page', method: 'GET', path: `${next}?limit=${draw.between(1, 50)}&continue={continue}${selector}` },
  ];
};

const watch: Production = (draw) => {
  const start = draw.pick([
    'sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
    'sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
    'resourceVersion={version}',
    'resourceVersion=0',
  ]);
  const selector = draw.chance(0.3) ? `&${draw.pick(SELECTORS)}` : '';
  const path = `${drawList(draw)}?watch=true&timeoutSeconds=${draw.between(1, 4)}&allowWatchBookmarks=true&${start}${selector}`;
  return [{ label: 'watch', method: 'GET', path }];
};

/** Calls the façade with a token that the façade issued. */
const replay: Production = (draw) => [{ ...request('replay', buildPath(drawAccount(draw)), drawBody(draw)), isReplay: true }];

/** Lists, gets and watches. The placeholders `{continue}` and `{version}` stand for the last ones that any tenant received. */
export const FACADE_READER: Grammar = [
  [3, list],
  [1, get],
  [1, pages],
  [0.7, watch],
];

export const FACADE_CALLER: Grammar = [[12, issue], [3, oddPath], [2, oddHeaders], ...FACADE_READER, [2, replay]];
