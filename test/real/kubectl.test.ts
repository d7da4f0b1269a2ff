// Compares the output of kubectl with the embedded and a real API server.

import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type KubectlWorld, startKubectlWorld } from './kubectl-world.ts';

const REPOSITORY = new URL('../../', import.meta.url).pathname;

const configMap = (name: string, rest: object, metadata: object = {}) =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, ...rest });
const managedToken = (name: string, spec: object) =>
  JSON.stringify({
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedToken',
    metadata: { name },
    spec: { clusterName: 'target-1', serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: ['x'], ...spec },
  });
const CONDITION = {
  type: 'Ready',
  status: 'True',
  reason: 'Issued',
  message: 'Token is valid.',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};
const READY = JSON.stringify({ status: { conditions: [CONDITION] } });
const RBAC = 'rbac.authorization.k8s.io';
const event = (uid: string) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'deployer.1' },
    involvedObject: { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', namespace: 'shop', name: 'deployer', uid },
    type: 'Warning',
    reason: 'Retrying',
    message: 'request failed',
    source: { component: 'purser' },
    count: 1,
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:00:00Z',
  });

/** Timeout of waits that must fail. With one second, kubectl sometimes warns about its own watch. */
const TIMEOUT = '3s';

const FILES = {
  'edit.sh': '#!/bin/sh\nsed -i "s/^  a: .*/  a: edited/" "$1"\n',
  'applied.yaml': configMap('applied', { data: { a: '1', b: '2' } }, { labels: { app: 'a' } }),
  'applied-2.yaml': configMap('applied', { data: { a: '2' } }, { labels: { app: 'a' } }),
  'unknown.yaml': configMap('unknown', { dataa: { a: '1' } }),
  'held.yaml': configMap('held', {}, { finalizers: ['a.b/c'] }),
  'family.yaml': configMap('parent', {}),
  'token.yaml': managedToken('deployer', {}),
  'token-unknown.yaml': managedToken('other', { unknown: 1 }),
  'token-invalid.yaml': managedToken('other', { clusterName: 'Target' }),
  'cluster.yaml': JSON.stringify({
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'target-1' },
    spec: { orchestratorApiEndpoints: { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://10.0.0.1' }] }, authInfo: {} },
  }),
  'list.yaml': JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: ['first', 'second'].map((name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { a: '1' } })),
  }),
  'roles.yaml': [
    { kind: 'Role', metadata: { name: 'granted', namespace: 'shop' }, rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] },
    {
      kind: 'RoleBinding',
      metadata: { name: 'granted', namespace: 'shop' },
      roleRef: { apiGroup: RBAC, kind: 'Role', name: 'granted' },
      subjects: [{ apiGroup: RBAC, kind: 'User', name: 'u' }],
    },
  ]
    .map((object) => JSON.stringify({ apiVersion: `${RBAC}/v1`, ...object }))
    .join('\n---\n'),
};

let world: KubectlWorld;

beforeAll(async () => {
  world = await startKubectlWorld();
  for (const [name, content] of Object.entries(FILES)) await writeFile(join(world.folder, name), content);
  await chmod(join(world.folder, 'edit.sh'), 0o755);
});

afterAll(() => world.stop(), 60_000);

/** Command, its exit code, and a part of its output. */
type Case = readonly [command: string, code: number, output: string];

const expand = (command: string) => command.replaceAll('FILES', world.folder).replaceAll('REPO/', REPOSITORY);

function itPrintsTheSame(cases: readonly Case[]): void {
  it.each(cases)('prints the same output as with a real API server for kubectl %s', async (command, code, output) => {
    const { embedded, real } = await world.kubectl(expand(command));
    expect(embedded).toEqual(real);
    expect(embedded).toEqual({ code, text: expect.stringContaining(output) });
  });
}

describe('kubectl create', () => {
  itPrintsTheSame([
    ['create namespace shop', 0, 'namespace/shop created'],
    ['create namespace shop', 1, 'Error from server (AlreadyExists): namespaces "shop" already exists'],
    ['create configmap plain --from-literal=a=1 --from-literal=b=2', 0, 'configmap/plain created'],
    ['create secret generic hidden --from-literal=p=q', 0, 'secret/hidden created'],
    ['create secret docker-registry pull --docker-username=a --docker-password=b --docker-email=c@d', 0, 'secret/pull created'],
    ['create serviceaccount robot', 0, 'serviceaccount/robot created'],
    ['create role reader --verb=get,list --resource=pods,configmaps --resource-name=x', 0, 'role.rbac.authorization.k8s.io/reader created'],
    ['create rolebinding readers --role=reader --user=bob --group=g --serviceaccount=shop:robot', 0, 'created'],
    ['create clusterrole metrics --verb=get --non-resource-url=/metrics', 0, 'clusterrole.rbac.authorization.k8s.io/metrics created'],
    ['create clusterrole sum --aggregation-rule=part=sum', 0, 'created'],
    ['create clusterrolebinding metrics --clusterrole=metrics --user=bob', 0, 'created'],
    ['create configmap unreal --from-literal=a=1 --dry-run=server -o yaml', 0, 'name: unreal'],
    ['get configmap unreal', 1, 'Error from server (NotFound): configmaps "unreal" not found'],
    ['create -f REPO/crds', 0, 'customresourcedefinition.apiextensions.k8s.io/managedtokens.tokens.purser.dev created'],
    [
      'wait --for=condition=Established crd/managedtokens.tokens.purser.dev crd/clusters.registry.purser.dev --timeout=20s',
      0,
      'condition met',
    ],
    ['create -f FILES/token.yaml', 0, 'managedtoken.tokens.purser.dev/deployer created'],
    ['create -f FILES/token-unknown.yaml', 1, 'strict decoding error: unknown field "spec.unknown"'],
    ['create -f FILES/token-invalid.yaml', 1, 'must be the name of a Cluster'],
    ['create -f FILES/unknown.yaml', 1, 'strict decoding error: unknown field "dataa"'],
    ['create -f FILES/unknown.yaml --validate=warn', 0, 'Warning: unknown field "dataa"'],
    ['apply -f REPO/deploy/samples/cluster.yaml --dry-run=client', 0, 'created (dry run)'],
    ['create -f FILES/cluster.yaml', 0, 'cluster.registry.purser.dev/target-1 created'],
  ]);
});

describe('kubectl apply', () => {
  itPrintsTheSame([
    ['apply -f FILES/applied.yaml', 0, 'configmap/applied created'],
    ['apply -f FILES/applied.yaml', 0, 'configmap/applied unchanged'],
    ['create -f FILES/list.yaml', 0, 'configmap/first created\nconfigmap/second created'],
    ['apply -f FILES/list.yaml --server-side --force-conflicts', 0, 'configmap/first serverside-applied'],
    ['diff -f FILES/applied-2.yaml', 1, '- b: "2"'],
    ['apply -f FILES/applied-2.yaml', 0, 'configmap/applied configured'],
    ['get configmap applied -o yaml', 0, 'last-applied-configuration'],
    ['apply --server-side -f FILES/applied.yaml', 0, 'configmap/applied serverside-applied'],
    [
      'apply --server-side --field-manager=other -f FILES/applied-2.yaml',
      1,
      'Apply failed with 1 conflict: conflict with "kubectl": .data.a',
    ],
    ['apply --server-side --field-manager=other --force-conflicts -f FILES/applied-2.yaml', 0, 'serverside-applied'],
    ['get configmap applied -o yaml --show-managed-fields', 0, 'manager: other'],
    ['apply --server-side -f FILES/token.yaml', 0, 'managedtoken.tokens.purser.dev/deployer serverside-applied'],
    ['apply -f FILES/token.yaml', 0, 'managedtoken.tokens.purser.dev/deployer'],
    ['apply --server-side --dry-run=server -f FILES/token-invalid.yaml', 1, 'must be the name of a Cluster'],
  ]);
});

describe('kubectl get', () => {
  itPrintsTheSame([
    ['get namespaces', 0, 'NAME STATUS AGE'],
    ['get configmap,secret,role,rolebinding -l nothing=here', 0, 'No resources found in shop namespace.'],
    ['get configmap -l app=a --show-labels', 0, 'app=a'],
    ['get configmap plain applied', 0, 'NAME DATA AGE'],
    ['get configmap plain nowhere', 1, 'configmaps "nowhere" not found'],
    ['get configmap --field-selector metadata.name=plain', 0, 'plain 2'],
    ['get configmap -l app=a --chunk-size=1 --sort-by=.metadata.name', 0, 'applied'],
    ['get configmap plain -o name', 0, 'configmap/plain'],
    ['get configmap plain -o json', 0, '"kind": "ConfigMap"'],
    ['get configmap plain -o jsonpath={.data.a}', 0, '1'],
    ['get configmap plain -o custom-columns=N:.metadata.name,D:.data', 0, 'plain map[a:1 b:2]'],
    ["get configmap plain -o 'go-template={{.metadata.name}}'", 0, 'plain'],
    ['get secret hidden -A', 1, 'a resource cannot be retrieved by name across all namespaces'],
    ['get configmap plain -w --request-timeout=1s', 0, 'plain 2'],
    ['get secret -A --field-selector metadata.name=hidden', 0, 'shop hidden Opaque 1'],
    ['get serviceaccount robot', 0, 'NAME AGE'],
    ['get role reader', 0, 'NAME CREATED AT'],
    ['get rolebinding readers -o wide', 0, 'Role/reader'],
    ['get clusterrolebinding metrics -o wide', 0, 'ClusterRole/metrics'],
    ['get crd managedtokens.tokens.purser.dev', 0, 'NAME CREATED AT'],
    ['get mt', 0, 'deployer'],
    ['get managedtokens.tokens.purser.dev deployer -o wide', 0, 'deployer'],
    ['get managedtoken deployer -o yaml', 0, 'clusterName: target-1'],
    ['get clusters.registry.purser.dev', 0, 'target-1'],
    ['get nothings', 1, 'error: the server doesn\'t have a resource type "nothings"'],
    ['get --raw /api/v1/namespaces/shop/configmaps/plain', 0, '"kind":"ConfigMap"'],
    ['get --raw /readyz', 0, 'ok'],
    ['get --raw /nowhere', 1, 'Error from server (NotFound): the server could not find the requested resource'],
    ['get events', 0, 'No resources found in shop namespace.'],
  ]);
});

describe('kubectl describe', () => {
  beforeAll(async () => {
    const uids = await world.output('get managedtoken deployer -o jsonpath={.metadata.uid}');
    for (const [server, uid] of Object.entries(uids)) await writeFile(join(world.folder, `event-${server}.yaml`), event(uid));
  });

  itPrintsTheSame([
    ['create -f FILES/event-SERVER.yaml', 0, 'event/deployer.1 created'],
    ['describe managedtoken deployer', 0, 'purser request failed'],
    ['describe clusters.registry.purser.dev target-1', 0, 'Kind: Cluster'],
    ['describe configmap plain', 0, 'BinaryData'],
    ['describe secret hidden', 0, 'p: 1 bytes'],
    ['describe serviceaccount robot', 0, 'Image pull secrets:'],
    ['describe role reader', 0, 'PolicyRule:'],
    ['describe rolebinding readers', 0, 'ServiceAccount robot shop'],
    ['describe clusterrole metrics', 0, '[/metrics]'],
    ['describe clusterrolebinding metrics', 0, 'User bob'],
    ['describe crd managedtokens.tokens.purser.dev', 0, 'Kind: ManagedToken'],
    ['events --for managedtoken/deployer', 0, 'request failed'],
    ['get events --field-selector involvedObject.name=deployer', 0, 'request failed'],
  ]);
});

describe('kubectl patch, label, annotate, edit and replace', () => {
  itPrintsTheSame([
    [`patch configmap plain --type=merge -p '{"data":{"m":"1"}}'`, 0, 'configmap/plain patched'],
    [`patch configmap plain --type=json -p '[{"op":"add","path":"/data/j","value":"1"}]'`, 0, 'configmap/plain patched'],
    [`patch configmap plain -p '{"data":{"s":"1"}}'`, 0, 'configmap/plain patched'],
    [`patch configmap plain -p '{"data":{"s":"1"}}'`, 0, 'configmap/plain patched (no change)'],
    [`patch configmap plain --type=json -p '[{"op":"remove","path":"/data/nowhere"}]'`, 1, 'The request is invalid'],
    [`patch managedtoken deployer --type=merge -p '{"spec":{"expirationSeconds":1200}}'`, 0, 'patched'],
    [`patch managedtoken deployer -p '{"spec":{"expirationSeconds":1300}}'`, 1, 'application/strategic-merge-patch+json is not supported'],
    [`patch managedtoken deployer --type=merge -p '{"spec":{"expirationSeconds":1}}'`, 1, 'should be greater than or equal to 600'],
    [`patch managedtoken deployer --subresource=status --type=merge -p '${READY}'`, 0, 'patched'],
    ['get managedtoken deployer --subresource=status', 0, 'deployer'],
    ['label configmap plain x=y', 0, 'configmap/plain labeled'],
    ['label configmap plain x=z', 1, "error: 'x' already has a value (y), and --overwrite is false"],
    ['label configmap plain x=z --overwrite', 0, 'configmap/plain labeled'],
    ['label configmap plain x-', 0, 'configmap/plain unlabeled'],
    ['annotate managedtoken deployer note=hello', 0, 'annotated'],
    ['edit configmap plain', 0, 'configmap/plain edited'],
    ['get configmap plain -o jsonpath={.data.a}', 0, 'edited'],
    ['edit managedtoken deployer', 0, 'Edit cancelled, no changes made.'],
    ['replace -f FILES/applied.yaml', 0, 'configmap/applied replaced'],
    ['replace --force -f FILES/applied.yaml', 0, 'configmap/applied replaced'],
    ['auth reconcile -f FILES/roles.yaml', 0, 'reconciled'],
    ['auth reconcile -f FILES/roles.yaml', 0, 'reconciled'],
  ]);
});

describe('kubectl wait', () => {
  itPrintsTheSame([
    ['wait --for=condition=Ready managedtoken/deployer --timeout=10s', 0, 'managedtoken.tokens.purser.dev/deployer condition met'],
    ['wait --for=jsonpath={.spec.clusterName}=target-1 managedtoken/deployer --timeout=10s', 0, 'condition met'],
    [`wait --for=condition=Never managedtoken/deployer --timeout=${TIMEOUT}`, 1, 'timed out waiting for the condition'],
    ['wait --for=create configmap/plain --timeout=10s', 0, 'configmap/plain condition met'],
    ['wait --for=delete configmap/nowhere --timeout=10s', 0, ''],
    ['wait --for=condition=Ready managedtoken/nowhere --timeout=1s', 1, 'managedtokens.tokens.purser.dev "nowhere" not found'],
  ]);
});

describe('kubectl auth', () => {
  itPrintsTheSame([
    ['create token robot', 0, 'TOKEN'],
    [
      'create token robot --audience=there --duration=20m --bound-object-kind=Secret --bound-object-name=hidden -o yaml',
      0,
      'boundObjectRef',
    ],
    ['create token robot --duration=5m', 1, 'may not specify a duration less than 10 minutes'],
    ['create token missing', 1, 'error: failed to create token: serviceaccounts "missing" not found'],
    ['auth can-i get pods', 0, 'yes'],
    ['auth can-i create managedtokens.tokens.purser.dev', 0, 'yes'],
    ['auth can-i get pods --as=bob', 1, 'no'],
    ['auth can-i get pods/x --as=bob', 0, 'yes'],
    ['auth can-i get /metrics --as=bob', 0, 'yes'],
    ['auth can-i get /other --as=bob', 1, 'no'],
    ['auth can-i get nothings', 0, "Warning: the server doesn't have a resource type 'nothings'"],
    ['auth whoami', 0, 'admin-uid'],
    ['auth whoami -o yaml', 0, 'username: admin'],
    ['auth whoami --as=zoe --as-group=a --as-group=b', 0, 'zoe'],
    ['get pods --as=bob', 1, 'User "bob" cannot list resource "pods" in API group "" in the namespace "shop"'],
    ['get pods --token=nonsense', 1, 'error: You must be logged in to the server (Unauthorized)'],
  ]);

  it('lists the same permissions as a real API server for kubectl auth can-i --list', async () => {
    const { embedded, real } = await world.kubectl('auth can-i --list --as=bob');
    const lines = (text: string) => text.split('\n').toSorted();
    expect(lines(embedded.text)).toEqual(lines(real.text));
    expect(embedded.text).toContain('[/metrics]');
  });
});

describe('kubectl explain of custom resources', () => {
  itPrintsTheSame([
    ['explain managedtoken.spec', 0, 'clusterName'],
    ['explain managedtoken.spec.secret', 0, 'outputs'],
    ['explain managedtoken.status --recursive', 0, 'conditions'],
    ['explain cluster.spec.orchestratorApiEndpoints', 0, 'serverEndpoints'],
    ['explain managedtoken.spec.nowhere', 1, 'error: field "nowhere" does not exist'],
    ['explain nothings', 1, 'doesn\'t have a resource type "nothings"'],
  ]);
});

describe('kubectl delete', () => {
  itPrintsTheSame([
    ['apply -f FILES/held.yaml', 0, 'configmap/held created'],
    ['delete configmap held --wait=false', 0, 'configmap "held" deleted from shop namespace'],
    [`delete configmap held --timeout=${TIMEOUT}`, 1, 'timed out waiting for the condition'],
    [`patch configmap held --type=merge -p '{"metadata":{"finalizers":null}}'`, 0, 'patched'],
    ['wait --for=delete configmap/held --timeout=10s', 0, ''],
    ['apply -f FILES/family.yaml', 0, 'configmap/parent created'],
    ['delete configmap nowhere', 1, 'Error from server (NotFound): configmaps "nowhere" not found'],
    ['delete configmap nowhere --ignore-not-found', 0, ''],
    ['delete configmap parent --dry-run=server', 0, 'configmap "parent" deleted from shop namespace (server dry run)'],
    ['delete configmap parent', 0, 'deleted'],
    ['delete secret -l nothing=here', 0, 'No resources found'],
    ['delete secret --field-selector metadata.name=pull', 0, 'secret "pull" deleted'],
    ['delete configmap applied --cascade=background', 0, 'deleted'],
    ['delete managedtoken --all', 0, 'managedtoken.tokens.purser.dev "deployer" deleted'],
    ['delete role reader -o name', 0, 'role.rbac.authorization.k8s.io/reader'],
    ['delete crd managedtokens.tokens.purser.dev', 0, 'deleted'],
    ['get managedtokens.tokens.purser.dev', 1, 'the server doesn\'t have a resource type "managedtokens"'],
    ['delete namespace shop --timeout=60s', 0, 'namespace "shop" deleted'],
    ['get configmap plain', 1, 'not found'],
  ]);
});

describe('discovery with kubectl', () => {
  it('lists only API resources and versions that a real server also serves', async () => {
    for (const command of ['api-resources --no-headers', 'api-versions']) {
      const { embedded, real } = await world.kubectl(command);
      const realLines = new Set(real.text.split('\n'));
      expect(embedded.text.split('\n').filter((line) => !realLines.has(line))).toEqual([]);
    }
  });

  it('reports the version of kubectl as the server version', async () => {
    const { embedded } = await world.kubectl('version');
    const [, client] = /Client Version: (\S+)/.exec(embedded.text) ?? [];
    expect(embedded.text).toContain(`Server Version: ${client}`);
  });

  it.each(['secret', 'configmap', 'serviceaccount', 'lease', 'event', 'role', 'clusterrolebinding', 'namespace', 'crd'])(
    'prints the fields of the kind for kubectl explain %s',
    async (kind) => {
      const { embedded } = await world.kubectl(`explain ${kind}`);
      expect(embedded).toEqual({ code: 0, text: expect.stringContaining('metadata') });
    },
  );
});
