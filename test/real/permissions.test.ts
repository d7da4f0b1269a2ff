// The table of permissions in docs/security.md on a real hub with Purser and the admission policies: for each row, a service account gets
// exactly the permission of that row, and sends the requests that the row allows and those that it does not allow.

import { Agent } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Permission, type PermissionRule, permissions } from '../docs/permissions.ts';
import { sendRequest } from '../support/api-request.ts';
import { type Deployment, DeployWorld, isDeployment, renderKustomization, waitUntil } from './deploy-world.ts';

/** Names that replace the placeholders of the table. */
const PLACEHOLDERS = { '<cluster>': 'target-1', '<set>': 'prod', '<namespace>': 'deploy', '<account>': 'deployer' } as const;
/** Sets of the clusters. */
const SETS = { 'target-1': 'prod', 'target-2': 'dev', 'target-3': 'prod' } as const;
const CLUSTERS = '/apis/registry.purser.dev/v1alpha1/clusters';
const TOKENS = '/apis/tokens.purser.dev/v1alpha1/namespaces/team-a/managedtokens';
const TOKEN_SETS = '/apis/tokens.purser.dev/v1alpha1/namespaces/team-a/managedtokensets';
const PROFILES = '/apis/multicluster.x-k8s.io/v1alpha1/namespaces/team-a/clusterprofiles';
const SECRETS = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`;
const PURSER_PATH = '/api/v1/namespaces/purser-system';
const DRY = '?dryRun=All';
const AUDIENCES = ['https://target.test'];

let world: DeployWorld;
let agent: Agent;

/** Sends the requests of an action with the token of a service account. Returns whether each request was allowed. */
type Action = (token: string) => Promise<readonly boolean[]>;

beforeAll(async () => {
  world = await DeployWorld.start('base');
  agent = new Agent({ ca: world.hub.ca, keepAlive: true });
  await world.enforcePolicies();
  await world.startDeployed((await renderKustomization('base')).find(isDeployment) as Deployment);
  for (const [name, set] of Object.entries(SETS)) {
    await world.register(name);
    await world.kubectl('label', `cluster.registry.purser.dev/${name}`, `registry.purser.dev/set=${set}`);
  }
  await world.kubectlOnTarget('create', 'namespace', 'elsewhere');
  for (const [namespace, name] of [
    ['deploy', 'other'],
    ['elsewhere', 'worker'],
    ['purser-system', 'other'],
  ] as const)
    await world.kubectlOnTarget('create', 'serviceaccount', name, '-n', namespace);
  await world.kubectl('create', 'namespace', 'holders');
  await world.kubectl('create', 'serviceaccount', 'purser-federated', '-n', 'purser-system');
  await world.apply([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'purser-removal-limit', namespace: 'purser-system' } }]);
  await world.kubectl('apply', '-f', 'REPO/deploy/samples/ci-deployer.yaml');
  await world.installProfiles();
  await world.apply([SET, PROFILE, ...[['team-a', 'other'] as const, ['team-b', 'ci-deployer'] as const].map(suspendedToken)]);
  for (const name of Object.keys(SETS)) await world.waitFor(`cluster.registry.purser.dev/${name}`, '--for=condition=Ready');
  await world.waitFor('-n', 'team-a', 'mt/ci-deployer', '--for=condition=Ready');
  await waitUntil(async () => (await facade('admintoken', 'GET', '/auth/v1/clusters').catch(() => 0)) === 200);
  // Until the published CA has issued a certificate, metrics are served with a self-signed one, for up to ten seconds.
  await waitUntil(async () => (await metrics('admintoken').catch(() => 0)) === 200);
});

afterAll(async () => {
  agent?.destroy();
  await world?.stop();
});

describe('table of permissions in docs/security.md', () => {
  const rows = permissions();

  it('names exactly the actions that this test performs', () => {
    const named = new Set(rows.flatMap(({ can, cannot }) => [...can, ...cannot]));
    expect([...named].sort()).toEqual(Object.keys(ACTIONS).sort());
  });

  it.each(rows.map((row, index) => [row.title, row, `holder-${index}`] as const))(
    'states the actions that the holder can and cannot perform: %s',
    async (_, row, holder) => {
      const token = await grant(row, holder);
      const results = async (actions: readonly string[]) =>
        Object.fromEntries(await Promise.all(actions.map(async (action) => [action, await ACTIONS[action]?.(token)] as const)));
      // Purser receives a new binding through its watch.
      await waitUntil(async () => Object.values(await results(row.can)).every((all) => all?.every(Boolean)));
      const denied = await results(row.cannot);
      expect(Object.entries(denied).filter(([, all]) => all?.some(Boolean) !== false)).toEqual([]);
    },
  );
});

/** Creates a service account that has the permission of a row and no other, and returns its token. */
async function grant({ rules, scope }: Permission, holder: string): Promise<string> {
  const namespace = { cluster: undefined, 'a namespace': 'team-a', "Purser's namespace": 'purser-system' }[scope];
  const [role, binding] = namespace === undefined ? ['ClusterRole', 'ClusterRoleBinding'] : ['Role', 'RoleBinding'];
  const metadata = { name: holder, ...(namespace !== undefined && { namespace }) };
  const apiGroup = 'rbac.authorization.k8s.io';
  const subjects = [{ kind: 'ServiceAccount', namespace: 'holders', name: holder }];
  await world.apply([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: holder, namespace: 'holders' } },
    { apiVersion: `${apiGroup}/v1`, kind: role, metadata, rules: rules.map(toRbacRule) },
    { apiVersion: `${apiGroup}/v1`, kind: binding, metadata, roleRef: { apiGroup, kind: role, name: holder }, subjects },
  ]);
  return await world.createToken('holders', holder);
}

function toRbacRule({ verbs, group, resource, name }: PermissionRule): object {
  if (group === undefined) return { nonResourceURLs: [resource], verbs };
  const fill = (text: string) => Object.entries(PLACEHOLDERS).reduce((filled, [from, to]) => filled.replace(from, to), text);
  return { apiGroups: [group], resources: [resource], verbs, ...(name !== undefined && { resourceNames: [fill(name)] }) };
}

interface HubResponse {
  readonly code: number;
  readonly body: { readonly reason?: string; readonly message?: string };
}

/** Sends a request to the hub. */
async function hub(token: string, line: string, body?: unknown): Promise<HubResponse> {
  const [method = '', path = ''] = line.split(' ');
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const headers = { authorization: `Bearer ${token}`, 'content-type': type };
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await sendRequest({ url: world.hub.url, agent }, method, path, { headers, ...text });
  return { code: response.status, body: JSON.parse(response.body) as HubResponse['body'] };
}

/** Returns true if the hub allowed a request; the hub checks permissions before AlreadyExists. Throws if the request failed for another reason. */
function isAllowed({ code, body }: HubResponse): boolean {
  if (code >= 300 && code !== 403 && body.reason !== 'AlreadyExists') throw new Error(body.message);
  return code !== 403;
}

/** Updates an object with PUT; retries on conflicts with other writers. */
async function replace(token: string, path: string, change: object, subresource = ''): Promise<HubResponse> {
  for (;;) {
    const { body } = await hub('admintoken', `GET ${path}`);
    const response = await hub(token, `PUT ${path}${subresource}${DRY}`, { ...body, ...change });
    if (response.body.reason !== 'Conflict') return response;
  }
}

/** Sends a request to the façade, and returns the status code. */
async function facade(token: string, method: string, path: string, body?: object): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const request = { headers, ...(body && { body: JSON.stringify(body) }) };
  return (await world.request(['purser', 'facade'], `${method} ${path}`, request)).status;
}

/** Reads the metrics, and returns the status code. */
async function metrics(token: string): Promise<number> {
  return (await world.request(['purser', 'metrics'], 'GET /metrics', { headers: { authorization: `Bearer ${token}` } })).status;
}

/** Sends requests to the hub. */
const sends =
  (...requests: readonly (readonly [line: string, body?: unknown])[]): Action =>
  async (token) =>
    await Promise.all(requests.map(async ([line, body]) => isAllowed(await hub(token, line, body))));

const replaces =
  (...request: readonly [path: string, change: object, subresource?: string]): Action =>
  async (token) => [isAllowed(await replace(token, ...request))];

const issues =
  (cluster: string, ...accounts: readonly string[]): Action =>
  async (token) =>
    await Promise.all(
      accounts.map(async (account) => {
        const [namespace, name] = account.split('/');
        const path = `/orchestrator/${cluster}/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
        const code = await facade(token, 'POST', path, { spec: { audiences: AUDIENCES } });
        if (code !== 201 && code !== 403) throw new Error(`${path}: ${code}`);
        return code === 201;
      }),
    );

const sees =
  (cluster: string): Action =>
  async (token) => [(await facade(token, 'GET', `/auth/v1/clusters/${cluster}`)) === 200];

const seesToken =
  (key: string): Action =>
  async (token) => {
    const [namespace, name] = key.split('/');
    return [(await facade(token, 'GET', `/auth/v1/namespaces/${namespace}/managedtokens/${name}`)) === 200];
  };

/** Performs several actions. */
const performs =
  (...actions: readonly Action[]): Action =>
  async (token) =>
    (await Promise.all(actions.map(async (action) => await action(token)))).flat();

/** Creates a ManagedToken, and waits for its token or for its rejection. */
const manages =
  (requesterServiceAccountName: string, result: string): Action =>
  async (token) => {
    const spec = { clusterName: 'target-1', serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: AUDIENCES };
    const kind = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken' };
    const name = `for-${requesterServiceAccountName}`;
    const created = await hub(token, `POST ${TOKENS}`, { ...kind, metadata: { name }, spec: { ...spec, requesterServiceAccountName } });
    if (!isAllowed(created)) return [false];
    await world.waitFor('-n', 'team-a', `mt/${name}`, `--for=${result}`);
    return [result === 'condition=Ready'];
  };

/** Returns a ManagedToken that Purser issues no token for. */
function suspendedToken([namespace, name]: readonly [string, string]): object {
  const spec = { clusterName: 'none', serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: AUDIENCES };
  const rotation = { suspend: true };
  return { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', metadata: { name, namespace }, spec: { ...spec, rotation } };
}

/** A set that selects no Cluster. */
const SET = {
  apiVersion: 'tokens.purser.dev/v1alpha1',
  kind: 'ManagedTokenSet',
  metadata: { name: 'fleet', namespace: 'team-a' },
  spec: {
    clusterSelector: { matchLabels: { env: 'none' } },
    template: { spec: { serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: AUDIENCES } },
  },
};
const PROFILE = {
  apiVersion: 'multicluster.x-k8s.io/v1alpha1',
  kind: 'ClusterProfile',
  metadata: { name: 'worker', namespace: 'team-a' },
  spec: { displayName: 'worker', clusterManager: { name: 'test' } },
};
const ENDPOINTS = { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://attacker.example.com' }] };
const patches = (path: string, body: object): readonly [string, object] => [`PATCH ${path}${DRY}`, body];
const creates = (name: string): readonly [string, object] => [
  `POST ${CLUSTERS}${DRY}`,
  {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name },
    spec: { orchestratorApiEndpoints: ENDPOINTS },
  },
];
const annotates = (annotations: object) => patches(`${TOKENS}/ci-deployer`, { metadata: { annotations } });
const endpoints = (name: string) => sends(patches(`${CLUSTERS}/${name}`, { spec: { orchestratorApiEndpoints: ENDPOINTS } }));
const authInfo = sends(patches(`${CLUSTERS}/target-1`, { spec: { authInfo: { controller: { name: 'target-2-credential' } } } }));
const setLabel = sends(patches(`${CLUSTERS}/target-1`, { metadata: { labels: { 'registry.purser.dev/set': 'dev' } } }));
const otherLabels = patches(`${CLUSTERS}/target-1`, { metadata: { labels: { env: 'x' } } });
const otherAnnotations = patches(`${CLUSTERS}/target-1`, { metadata: { annotations: { note: 'x' } } });

/** Writes an address into a ClusterProfile, on its creation and with the subresource status; returns whether the hub stores it. */
const publishesAddress: Action = async (token) => {
  const status = { accessProviders: [{ name: 'secretreader', cluster: { server: 'https://attacker.example.com' } }] };
  const metadata = { ...PROFILE.metadata, name: 'other' };
  const responses = [
    await hub(token, `POST ${PROFILES}${DRY}`, { ...PROFILE, metadata, status }),
    await hub(token, ...patches(`${PROFILES}/worker`, { status })),
    await hub(token, ...patches(`${PROFILES}/worker/status`, { status })),
  ];
  return [responses.some((response) => isAllowed(response) && JSON.stringify(response.body).includes('attacker'))];
};

const finalizersAndOwners = (name: string) =>
  sends(
    patches(`${CLUSTERS}/${name}`, { metadata: { finalizers: ['example.com/hold'] } }),
    patches(`${CLUSTERS}/${name}`, { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'x', uid: 'x' }] } }),
  );
const requestsToken = (account: string, spec: object) =>
  sends([
    `POST ${PURSER_PATH}/serviceaccounts/${account}/token${DRY}`,
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec },
  ]);

/** Requests of each action in the table. */
const ACTIONS: Readonly<Record<string, Action>> = {
  'obtain tokens': issues('target-1', 'deploy/deployer'),
  'obtain tokens for that service account': issues('target-1', 'deploy/deployer'),
  'obtain tokens for other service accounts in that namespace': issues('target-1', 'deploy/other'),
  'obtain tokens for service accounts in that namespace': issues('target-1', 'deploy/deployer', 'deploy/other'),
  'obtain tokens for service accounts in other namespaces': issues('target-1', 'elsewhere/worker'),
  'obtain tokens for service accounts in protected namespaces': issues('target-1', 'kube-system/default'),
  "obtain tokens for service accounts in Purser's namespace": issues('target-1', 'purser-system/purser', 'purser-system/other'),
  'obtain tokens for service accounts on other clusters': issues('target-2', 'deploy/deployer'),
  'obtain tokens for service accounts in unprotected namespaces': issues('target-1', 'deploy/deployer', 'elsewhere/worker'),
  'obtain tokens for that service account on all clusters of that set': performs(
    issues('target-1', 'deploy/deployer'),
    issues('target-3', 'deploy/deployer'),
  ),
  'obtain tokens for service accounts in that namespace on all clusters of that set': performs(
    issues('target-1', 'deploy/deployer', 'deploy/other'),
    issues('target-3', 'deploy/deployer'),
  ),
  'obtain tokens for service accounts in unprotected namespaces on all clusters of that set': performs(
    issues('target-1', 'deploy/deployer', 'elsewhere/worker'),
    issues('target-3', 'deploy/deployer'),
  ),
  'obtain tokens for service accounts on clusters outside that set': issues('target-2', 'deploy/deployer'),
  'see Clusters': sees('target-1'),
  'see that Cluster': sees('target-1'),
  'see other Clusters': sees('target-2'),
  'see Clusters of that set': performs(sees('target-1'), sees('target-3')),
  'see Clusters outside that set': sees('target-2'),
  'read that Cluster on the hub': sends([`GET ${CLUSTERS}/target-1`]),
  'read Clusters of that set on the hub': sends([`GET ${CLUSTERS}/target-1`], [`GET ${CLUSTERS}/target-3`]),
  'create Clusters': sends(creates('target-4')),
  'create that Cluster': sends(creates('target-1')),
  'create other Clusters': sends(creates('target-4')),
  'delete Clusters': sends([`DELETE ${CLUSTERS}/target-1${DRY}`]),
  'change endpoints of Clusters': endpoints('target-1'),
  'change endpoints of that Cluster': endpoints('target-1'),
  'change endpoints of other Clusters': endpoints('target-2'),
  'change authInfo of Clusters': authInfo,
  'change authInfo of that Cluster': authInfo,
  'change the set label of Clusters': setLabel,
  'change the set label of that Cluster': setLabel,
  'change finalizers and owner references of Clusters': finalizersAndOwners('target-1'),
  'change finalizers and owner references of that Cluster': finalizersAndOwners('target-1'),
  'change finalizers and owner references of other Clusters': finalizersAndOwners('target-2'),
  'change annotations of Clusters': sends(otherAnnotations),
  'change labels of Clusters, except the set label': sends(otherLabels),
  'change labels and annotations of that Cluster': sends(otherLabels, otherAnnotations),
  'write the status of Clusters': replaces(`${CLUSTERS}/target-1`, { status: { version: 'v0' } }, '/status'),
  'change endpoints of Clusters through the status subresource': async (token) => {
    const { code, body } = await replace(token, `${CLUSTERS}/target-1`, { spec: { orchestratorApiEndpoints: ENDPOINTS } }, '/status');
    expect(code).toBe(200);
    return [JSON.stringify(body).includes('attacker')];
  },
  'obtain tokens that a service account in the namespace may issue': manages('ci', 'condition=Ready'),
  'obtain tokens that no service account in the namespace may issue': manages(
    'default',
    'jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Forbidden',
  ),
  'read ManagedTokens': sends([`GET ${TOKENS}`]),
  'see ManagedTokens': seesToken('team-a/ci-deployer'),
  'see that ManagedToken': seesToken('team-a/ci-deployer'),
  'see other ManagedTokens': seesToken('team-a/other'),
  'see ManagedTokens in other namespaces': seesToken('team-b/ci-deployer'),
  'see ManagedTokens of that name in other namespaces': seesToken('team-b/ci-deployer'),
  'see ManagedTokens of that name in all namespaces': performs(seesToken('team-a/ci-deployer'), seesToken('team-b/ci-deployer')),
  'see ManagedTokens in all namespaces': performs(seesToken('team-a/ci-deployer'), seesToken('team-b/ci-deployer')),
  'create ManagedTokens in other namespaces': sends([`POST ${TOKENS.replace('team-a', 'team-b')}${DRY}`, {}]),
  'request rotation and revocation': sends(annotates({ 'tokens.purser.dev/rotate': 'x', 'tokens.purser.dev/revoke': 'x' })),
  'delete ManagedTokens': sends([`DELETE ${TOKENS}/ci-deployer${DRY}`]),
  'write the status of ManagedTokens': replaces(`${TOKENS}/ci-deployer`, { status: { secretName: 'forged' } }, '/status'),
  "change Purser's finalizer and annotations on ManagedTokens": sends(
    annotates({ 'tokens.purser.dev/anchors': 'forged' }),
    patches(`${TOKENS}/ci-deployer`, { metadata: { finalizers: ['tokens.purser.dev/anchor'] } }),
  ),
  'read ManagedTokenSets': sends([`GET ${TOKEN_SETS}`]),
  'create and change ManagedTokenSets': sends(
    [`POST ${TOKEN_SETS}${DRY}`, SET],
    patches(`${TOKEN_SETS}/fleet`, { spec: { rollout: { maxConcurrent: 5 } } }),
  ),
  'write the status of ManagedTokenSets': replaces(`${TOKEN_SETS}/fleet`, { status: { clusters: 7 } }, '/status'),
  'read ClusterProfiles': sends([`GET ${PROFILES}`]),
  'create and delete ClusterProfiles': sends([`POST ${PROFILES}${DRY}`, PROFILE], [`DELETE ${PROFILES}/worker${DRY}`]),
  'change addresses in ClusterProfiles': publishesAddress,
  'read Secrets': sends([`GET ${SECRETS('team-a')}/ci-deployer`]),
  'read Secrets in that namespace': sends([`GET ${SECRETS('team-a')}/ci-deployer`]),
  'read Secrets in other namespaces': sends([`GET ${SECRETS('team-a')}/ci-deployer`]),
  'read cluster credentials': sends([`GET ${SECRETS('purser-system')}/target-1-credential`]),
  'replace cluster credentials': replaces(`${SECRETS('purser-system')}/target-1-credential`, { data: {} }),
  'act as Purser': requestsToken('purser', {}),
  'obtain tokens that federated clusters accept from Purser': requestsToken('purser-federated', {
    audiences: ['purser:https://target.test'],
  }),
  'release paused removals': sends(
    patches(`${PURSER_PATH}/configmaps/purser-removal-limit`, { metadata: { annotations: { 'registry.purser.dev/release': 'x' } } }),
  ),
  'read the CA of the façade': sends([`GET ${PURSER_PATH}/configmaps/purser-facade-ca`]),
  'read the metrics': async (token) => [(await metrics(token)) === 200],
  'look up the user of a token': sends([
    'POST /apis/authentication.k8s.io/v1/tokenreviews',
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: 'admintoken' } },
  ]),
  'look up the permissions of a user': sends([
    'POST /apis/authorization.k8s.io/v1/subjectaccessreviews',
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: 'alice', resourceAttributes: { verb: 'get', resource: 'pods' } },
    },
  ]),
};
