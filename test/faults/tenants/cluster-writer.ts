// Grammar of the hostile writer of Clusters: all changes to Cluster objects, without permission on Secrets. It excludes the Clusters `one`
// and `two`, where the bench measures other tenants: a user who may write Clusters can stop issuance for them.

import { base64, paths } from '../api.ts';
import { type Action, type Draw, type Grammar, MERGE, type Production, type Scene } from './grammar.ts';
import { INVENTED_CLUSTERS, VICTIM_CLUSTERS } from './names.ts';

const NAMES = [...VICTIM_CLUSTERS, ...VICTIM_CLUSTERS, ...INVENTED_CLUSTERS];
const CREDENTIALS = [
  'two-prod-credential',
  'two-dev-credential',
  'one-credential',
  'one-credential-renewed',
  'two-credential',
  'purser-facade-tls',
  'missing',
];

function drawEndpoints(draw: Draw, { hostile, one, two, hub }: Scene): object {
  const allClients = '0.0.0.0/0';
  const isStealthy = draw.chance(0.4);
  if (isStealthy) {
    // Both CAs, and an address that clients on this machine prefer.
    return {
      caBundle: base64(two.ca + hostile.ca),
      serverEndpoints: [
        { clientCIDR: allClients, serverAddress: two.url },
        { clientCIDR: draw.pick(['127.0.0.0/8', '127.0.0.1/32', allClients]), serverAddress: hostile.url },
      ],
    };
  }
  const address = draw.pick([
    hostile.url,
    hostile.url,
    two.url,
    one.url,
    hub.url,
    `${two.url}/`,
    `${hostile.url}/path`,
    'https://127.0.0.1:1',
    'https://[::1]:1',
  ]);
  const ca = draw.pick([hostile.ca, hostile.ca, hostile.ca + two.ca, two.ca, one.ca, hub.ca]);
  return { caBundle: base64(ca), serverEndpoints: [{ clientCIDR: draw.pick([allClients, '127.0.0.0/8']), serverAddress: address }] };
}

function drawAuthInfo(draw: Draw): object {
  const controller = draw.pick([
    { kind: 'Secret', namespace: 'purser-system', name: draw.pick(CREDENTIALS) },
    { kind: 'Secret', namespace: 'purser-system', name: draw.pick(CREDENTIALS) },
    {
      kind: 'Secret',
      namespace: draw.pick(['hostile-a', 'hostile-victims', 'polite-a']),
      name: draw.pick(['mt-1', 'victim-1', 'polite-1']),
    },
    { kind: 'ServiceAccount', namespace: 'purser-system', name: 'purser' },
  ]);
  return { controller };
}

function buildCluster(name: string, spec: object, labels: object = {}): object {
  return { apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster', metadata: { name, labels }, spec };
}

function createAction(name: string, draw: Draw, scene: Scene): Action {
  const spec = { orchestratorApiEndpoints: drawEndpoints(draw, scene), authInfo: drawAuthInfo(draw) };
  return { label: `create Cluster ${name}`, method: 'POST', path: paths.clusters(), body: buildCluster(name, spec) };
}

function deleteAction(name: string): Action {
  return { label: `delete Cluster ${name}`, method: 'DELETE', path: paths.clusters(name), body: {} };
}

function patchAction(name: string, label: string, body: object): Action {
  return { label: `${label} of Cluster ${name}`, method: 'PATCH', path: paths.clusters(name), body, type: MERGE };
}

/** Registers another cluster's address and credential under a name for which a tenant has permission. */
const alias: Production = (draw, { one, two }) => {
  const name = draw.pick(['dev', 'two-dev', 'one-copy', 'two-copy']);
  const [address, credential] = draw.pick([
    [one, 'one-credential'],
    [two, 'two-credential'],
    [two, 'two-prod-credential'],
  ] as const);
  const spec = {
    orchestratorApiEndpoints: { caBundle: base64(address.ca), serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: address.url }] },
    authInfo: { controller: { kind: 'Secret', namespace: 'purser-system', name: credential } },
  };
  return [
    { label: `alias ${name}`, method: 'POST', path: paths.clusters(), body: buildCluster(name, spec) },
    patchAction(name, 'alias', { spec }),
  ];
};

const create: Production = (draw, scene) => [createAction(draw.pick(NAMES), draw, scene)];

const repoint: Production = (draw, scene) => [
  patchAction(draw.pick(NAMES), 'endpoints', { spec: { orchestratorApiEndpoints: drawEndpoints(draw, scene) } }),
];

const swapCa: Production = (draw, { hostile, two }) => {
  const caBundle = draw.pick([base64(hostile.ca), base64(hostile.ca + two.ca), base64(two.ca + hostile.ca), base64('garbage'), null]);
  return [patchAction(draw.pick(NAMES), 'caBundle', { spec: { orchestratorApiEndpoints: { caBundle } } })];
};

const swapCredential: Production = (draw) => [patchAction(draw.pick(NAMES), 'authInfo', { spec: { authInfo: drawAuthInfo(draw) } })];

const label: Production = (draw) => [
  patchAction(draw.pick(NAMES), 'labels', { metadata: { labels: { env: draw.pick(['prod', 'dev']), 'registry.purser.dev/set': 'all' } } }),
];

const remove: Production = (draw) => [deleteAction(draw.pick(NAMES))];

const replace: Production = (draw, scene) => {
  const name = draw.pick(NAMES);
  return [deleteAction(name), createAction(name, draw, scene)];
};

const forgeStatus: Production = (draw) => {
  const name = draw.pick(NAMES);
  const status = { type: 'forged', version: 'v9', conditions: [] };
  return [{ label: `status of Cluster ${name}`, method: 'PATCH', path: `${paths.clusters(name)}/status`, body: { status }, type: MERGE }];
};

const readSecrets: Production = () => [{ label: 'read credentials', method: 'GET', path: paths.secrets('purser-system') }];

export const CLUSTER_WRITER: Grammar = [
  [3, create],
  [6, repoint],
  [4, alias],
  [3, swapCa],
  [3, swapCredential],
  [1, label],
  [1, remove],
  [1, replace],
  [0.5, forgeStatus],
  [0.3, readSecrets],
];
