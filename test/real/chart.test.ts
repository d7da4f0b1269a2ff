// Compares the objects of the Helm chart with those of the kustomizations, rendered by the real programs.

import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments, stringify } from 'yaml';
import type { Manifest } from '../../deploy/chart-template.ts';
import { generateTemplates } from '../../deploy/generate-chart.ts';
import { newFolder } from '../support/folders.ts';
import { findBinary, helmBinary } from '../support/kube-binaries.ts';
import { run } from '../support/run.ts';
import { configOf } from '../support/run-purser.ts';
import { isDeployment } from './deploy-world.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy');
const CHART = join(DEPLOY, 'chart');

const POLICIES = 'components/admission';
/** API that `helm template` needs as an argument; `helm install` discovers it on the hub. */
const SERVED = 'admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy';
const VARIANTS = [
  ['default values', {}, { resources: ['base'], components: [POLICIES] }],
  ['no admission policies', { admission: { enabled: false } }, { resources: ['base'] }],
  ['separate parts', { apart: true }, { resources: ['overlays/apart'], components: [POLICIES] }],
  ['named namespaces', { namespaces: ['team-a'] }, { resources: ['overlays/namespaces'], components: [POLICIES] }],
  [
    'a certificate from cert-manager',
    { certManager: { enabled: true } },
    { resources: ['base'], components: [POLICIES, 'components/cert-manager'] },
  ],
  [
    'custom resources installed by Purser',
    { options: { 'install-crds': true } },
    { resources: ['base'], components: [POLICIES, 'components/install-crds'] },
  ],
  [
    'credentials in another namespace',
    { options: { 'credential-namespaces': 'purser-system,fleet' } },
    { resources: ['base'], components: [POLICIES, 'components/credential-namespaces'] },
  ],
  [
    'credentials in another namespace and separate parts',
    { apart: true, options: { 'credential-namespaces': 'purser-system,fleet' } },
    { resources: ['overlays/apart'], components: [POLICIES, 'components/credential-namespaces'] },
  ],
  [
    'federation',
    { federation: { serviceAccounts: ['purser-federated'] } },
    { resources: ['base'], components: [POLICIES, 'components/federation'] },
  ],
  [
    'federation and separate parts',
    { apart: true, federation: { serviceAccounts: ['purser-federated'] } },
    { resources: ['overlays/apart'], components: [POLICIES, 'components/federation'] },
  ],
  [
    'custom resources installed by Purser and separate parts',
    { apart: true, options: { 'install-crds': true } },
    { resources: ['overlays/apart'], components: [POLICIES, 'components/install-crds'] },
  ],
  [
    'an Ingress',
    { facade: { ingress: { enabled: true, host: 'purser.example.com' } } },
    { resources: ['base'], components: [POLICIES, 'components/ingress'] },
  ],
  ['monitoring', { monitoring: { enabled: true } }, { resources: ['base'], components: [POLICIES, 'components/monitoring'] }],
] as const;

/** Options that conflict with ports, probes, roles or values of the chart, and options of the local run. */
const RESERVED_OPTIONS = [
  'facade-port',
  'metrics-port',
  'bind-address',
  'metrics-tls',
  'namespace',
  'namespaces',
  'components',
  'help',
  'version',
  'ready-file',
  'facade-tls-secret',
  'facade-tls-cert',
  'facade-tls-key',
  'data-dir',
  'api-port',
  'clusters',
  'no-samples',
];

describe('Helm chart', () => {
  it('has the templates that are generated from the kustomizations', async () => {
    const rendered = new Map<string, string>();
    for (const path of [
      'base',
      'overlays/apart',
      'overlays/namespaces',
      'overlays/credential-namespaces',
      'overlays/federation',
      'overlays/install-crds',
      POLICIES,
      'components/cert-manager',
      'components/ingress',
      'components/monitoring',
    ])
      rendered.set(path, await runForOutput('kubectl', ['kustomize', join(DEPLOY, path)]));
    const expected = generateTemplates((path) => rendered.get(path) ?? '');
    const names = (await readdir(join(CHART, 'templates'))).sort();
    const texts = await Promise.all(names.map((name) => readFile(join(CHART, 'templates', name), 'utf8')));

    expect(names).toEqual([...expected.keys()].sort());
    expect(texts).toEqual(names.map((name) => expected.get(name)));
  });

  it('passes helm lint --strict', async () => {
    expect(await run(helm(), ['lint', '--strict', CHART])).toMatchObject({ code: 0 });
  });

  it.each(VARIANTS)('renders the same objects as kustomize with %s', async (_, values, kustomization) => {
    // The namespace must exist before Helm stores a release in it, so the chart omits it.
    const expected = new Map([...(await renderKustomization(kustomization))].filter(([, { kind }]) => kind !== 'Namespace'));
    expect(await renderChart(values)).toEqual(expected);
  });

  it('omits the admission policies for a hub that does not serve them', async () => {
    const { output } = await run(helm(), ['template', 'purser', CHART]);
    const kinds = [...parseObjects(output).values()].map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind.startsWith('ValidatingAdmissionPolicy'))).toEqual([]);
  });

  it('limits separate parts to the named namespaces', async () => {
    const options = { 'install-crds': true };
    const objects = [...(await renderChart({ apart: true, namespaces: ['team-a', 'team-b'], options })).values()];
    const accounts = new Set(objects.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata.name));
    const bindings = objects.filter((object): object is Binding => object.kind.endsWith('RoleBinding'));
    const tokenBindings = bindings.filter(({ roleRef }) => roleRef.name.endsWith('-tokens'));
    const unknownSubjects = bindings
      .flatMap(({ subjects }) => subjects)
      .filter(({ kind, name }) => kind === 'ServiceAccount' && !accounts.has(name));

    expect(tokenBindings.map(({ kind, metadata, subjects }) => `${kind} of ${subjects[0]?.name} in ${metadata.namespace}`).sort()).toEqual([
      'RoleBinding of purser-controller in team-a',
      'RoleBinding of purser-controller in team-b',
      'RoleBinding of purser-facade in team-a',
      'RoleBinding of purser-facade in team-b',
    ]);
    expect(unknownSubjects).toEqual([]);
  });

  it('creates several service accounts for federation, and grants only requests for their tokens', async () => {
    const objects = await renderChart({ federation: { serviceAccounts: ['a', 'b'] } }, 'tokens');
    const [role] = [...objects].flatMap(([key, object]) => (key === 'Role/tokens/purser-federation' ? [object] : []));
    expect([...objects.keys()].filter((key) => key.startsWith('ServiceAccount/'))).toEqual(
      ['a', 'b', 'purser'].map((name) => `ServiceAccount/tokens/${name}`),
    );
    expect(role).toMatchObject({ rules: [{ resources: ['serviceaccounts/token'], resourceNames: ['a', 'b'], verbs: ['create'] }] });
  });

  it('grants access to credentials in every credential namespace and in the namespace of the release', async () => {
    const objects = await renderChart({ options: { 'credential-namespaces': 'fleet, tokens, edge,fleet,' } }, 'tokens');
    const granted = [...objects.keys()].filter((key) => key.endsWith('/purser-credentials'));
    expect(granted).toEqual(
      ['Role', 'RoleBinding'].flatMap((kind) => ['edge', 'fleet', 'tokens'].map((name) => `${kind}/${name}/purser-credentials`)),
    );
  });

  it('applies values of image, scheduling, options, network and monitoring to the objects', async () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    const values = {
      image: { repository: 'registry.test/purser', digest },
      replicas: 3,
      options: { 'verify-interval': '1h', 'allow-loopback': true },
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [{ key: 'infra', operator: 'Exists' }],
      podAnnotations: { 'team.test/owner': 'platform' },
      networkPolicy: { clusterPorts: [8443] },
      monitoring: { enabled: true, namespace: 'watchers' },
      facade: { tlsSecretName: 'facade-certificate' },
    };
    const objects = await renderChart(values, 'tokens');

    const args = expect.arrayContaining(['--verify-interval=1h', '--allow-loopback', '--facade-tls-secret=facade-certificate']);
    expect(objects.get('Deployment/tokens/purser')).toMatchObject({
      spec: {
        replicas: 3,
        template: {
          metadata: { annotations: values.podAnnotations },
          spec: {
            nodeSelector: values.nodeSelector,
            tolerations: values.tolerations,
            containers: [{ image: `registry.test/purser@${digest}`, args }],
          },
        },
      },
    });
    expect(objects.get('NetworkPolicy/tokens/purser')).toHaveProperty('spec.egress.1.ports', [{ port: 8443 }]);
    expect(objects.get('NetworkPolicy/tokens/purser')).toHaveProperty('spec.ingress.1.from.0.namespaceSelector.matchLabels', {
      'kubernetes.io/metadata.name': 'watchers',
    });
    expect(objects.get('ClusterRoleBinding//purser-metrics-reader')).toHaveProperty('subjects.0.name', 'system:serviceaccounts:watchers');
    expect([...objects.keys()].filter((key) => key.includes('purser-system'))).toEqual([]);
  });

  it.each([false, true])(
    'applies affinity, labels, annotations and volumes to all pods and service accounts (apart: %s)',
    async (apart) => {
      const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [] }] } };
      const values = {
        apart,
        affinity: { nodeAffinity },
        podLabels: { team: 'platform' },
        serviceAccount: { annotations: { 'cloud.test/role': 'purser' } },
        extraVolumes: [{ name: 'ca', configMap: { name: 'proxy-ca' } }],
        extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/proxy-ca', readOnly: true }],
      };
      const objects = [...(await renderChart(values)).values()];
      const deployments = objects.filter(isDeployment);
      const accounts = objects.filter(({ kind }) => kind === 'ServiceAccount');

      expect([deployments.length, accounts.length]).toEqual(apart ? [2, 2] : [1, 1]);
      for (const { spec } of deployments) {
        expect(spec.template).toMatchObject({
          metadata: { labels: { 'app.kubernetes.io/name': 'purser', team: 'platform' } },
          spec: {
            volumes: [{ name: 'service-account' }, ...values.extraVolumes],
            containers: [{ volumeMounts: [{ name: 'service-account' }, ...values.extraVolumeMounts] }],
          },
        });
        expect(spec.template.spec).toHaveProperty('affinity', { nodeAffinity });
      }
      for (const account of accounts) expect(account).toHaveProperty('metadata.annotations', values.serviceAccount.annotations);
    },
  );

  it('sets host, class and annotations of the Ingress', async () => {
    const ingress = {
      enabled: true,
      host: 'tokens.example.com',
      className: 'haproxy',
      annotations: { 'haproxy.org/ssl-passthrough': 'true' },
    };
    const objects = await renderChart({ facade: { ingress } }, 'tokens');
    expect(objects.get('Ingress/tokens/purser')).toMatchObject({
      metadata: { annotations: ingress.annotations },
      spec: { ingressClassName: 'haproxy', rules: [{ host: 'tokens.example.com' }] },
    });
  });

  it('links to the configured repository in alerts and in the dashboard', async () => {
    const repositoryURL = 'https://git.test/purser/-/blob/v1';
    const objects = await renderChart({ repositoryURL, monitoring: { enabled: true } });
    const text = JSON.stringify([...objects.values()]);
    expect(text).toContain(`${repositoryURL}/docs/operating.md#pursernoleader`);
    expect(text).toContain(`${repositoryURL}/docs/troubleshooting.md`);
    expect(text).not.toContain('git.example.com');
  });

  it.each([
    [{}, ['deployment/purser', 'image.repository is not set', 'docs/operating.md#register-a-cluster'], ['Warning: the admission']],
    [
      {
        apart: true,
        admission: { enabled: false },
        image: { repository: 'registry.test/purser' },
        facade: { ingress: { enabled: true, host: 'purser.test' } },
      },
      ['deployment/purser-controller', 'deployment/purser-facade', 'https://purser.test', 'Warning: the admission policies are disabled'],
      ['image.repository'],
    ],
  ])('prints notes about the next steps with the values %j', async (values, present, absent) => {
    const { code, output } = await runHelm(['install', '--dry-run=client'], values, 'purser-system');
    const [, notes = ''] = output.split('NOTES:\n');
    expect(code).toBe(0);
    for (const text of present) expect(notes).toContain(text);
    for (const text of absent) expect(notes).not.toContain(text);
  });

  it('renders options that Purser can parse, from values files and from --set', async () => {
    const options = { 'facade-rate': 1_000_000, 'verify-interval': 0, 'hub-cluster': 'true', 'install-crds': true, 'log-level': 'debug' };
    const args = ['--facade-rate=1000000', '--hub-cluster=true', '--install-crds', '--log-level=debug', '--verify-interval=0'];
    const set = ['facade-rate=1000000', 'verify-interval=0', 'install-crds=true', 'log-level=debug'].map((each) => `options.${each}`);
    const setArgs = ['template', 'purser', CHART, '--set', set.join(','), '--set-string', 'options.hub-cluster=true'];

    for (const objects of [await renderChart({ options }), parseObjects((await run(helm(), setArgs)).output)]) {
      const deployment = [...objects.values()].find(isDeployment);
      const rendered = deployment?.spec.template.spec.containers[0]?.args ?? [];
      expect(rendered.slice(-args.length)).toEqual(args);
      expect(await configOf(rendered)).toMatchObject({ facadeRate: 1_000_000, hubCluster: 'true' });
    }
  });

  it.each([false, true])('sets the Service type of the façade and the environment of all pods (apart: %s)', async (apart) => {
    const service = { type: 'LoadBalancer', annotations: { 'lb.test/scheme': 'internal' } };
    const env = [
      { name: 'HTTPS_PROXY', valueFrom: { secretKeyRef: { name: 'proxy', key: 'url' } } },
      { name: 'NO_PROXY', value: '.internal.test' },
    ];
    const objects = await renderChart({ apart, env, facade: { service } });
    const deployments = [...objects.values()].filter(isDeployment);

    expect(objects.get('Service/purser-system/purser')).toMatchObject({
      metadata: { annotations: service.annotations },
      spec: { type: 'LoadBalancer', ports: [{ name: 'https' }] },
    });
    expect(objects.get('Service/purser-system/purser-metrics')).not.toHaveProperty('spec.type');
    expect(deployments).toHaveLength(apart ? 2 : 1);
    for (const deployment of deployments) {
      expect(deployment).toHaveProperty('spec.template.spec.containers.0.env', [
        expect.objectContaining({ name: 'PURSER_NAMESPACE' }),
        ...env,
      ]);
    }
  });

  it('adds DNS names and an issuer to the certificate of the façade', async () => {
    const issuerRef = { kind: 'ClusterIssuer', name: 'company-ca' };
    const named = await renderChart({ certManager: { enabled: true, dnsNames: ['purser.example.com'] } });
    const signed = await renderChart({ certManager: { enabled: true, issuerRef } });
    const authorities = (objects: Objects) => [...objects.keys()].filter((key) => /^Issuer|authority/.test(key));

    expect(named.get('Certificate/purser-system/purser-facade')).toMatchObject({
      spec: { dnsNames: expect.arrayContaining(['purser.purser-system.svc', 'purser.example.com']), issuerRef: { name: 'purser-facade' } },
    });
    expect(signed.get('Certificate/purser-system/purser-facade')).toHaveProperty('spec.issuerRef', issuerRef);
    expect([authorities(named).length, authorities(signed)]).toEqual([3, []]);
  });

  it('adds labels to the ServiceMonitor and the PrometheusRule', async () => {
    const objects = await renderChart({ monitoring: { enabled: true, labels: { release: 'stack' } } });
    for (const kind of ['ServiceMonitor', 'PrometheusRule']) {
      expect(objects.get(`${kind}/purser-system/purser`)).toHaveProperty('metadata.labels', {
        'app.kubernetes.io/name': 'purser',
        release: 'stack',
      });
    }
  });

  it.each([
    ['an unknown key', { replica: 3 }],
    ['an option as an environment variable', { env: [{ name: 'PURSER_NAMESPACES', value: 'team-a' }] }],
    ['an issuer without a name', { certManager: { issuerRef: { kind: 'ClusterIssuer' } } }],
    ['an unknown Service type', { facade: { service: { type: 'Loadbalancer' } } }],
    ['a value of another type', { apart: 'yes' }],
    ['a misspelled option', { options: { 'verfy-interval': '1h' } }],
    ['an option without its value', { options: { 'log-level': true } }],
    ['a switch with a value other than a boolean', { options: { 'install-crds': 'no' } }],
    ['a reserved label of the pods', { podLabels: { 'app.kubernetes.io/name': 'other' } }],
    ['a volume with the name of the token volume', { extraVolumes: [{ name: 'service-account', emptyDir: {} }] }],
    ['an Ingress without a host', { facade: { ingress: { enabled: true } } }],
    ['a repository URL that would end a JSON string', { repositoryURL: 'https://git.test/"' }],
    ['a namespace to create', { namespace: { create: true } }],
    ...RESERVED_OPTIONS.map((option) => [`the option ${option}`, { options: { [option]: 'x' } }] as const),
  ])('rejects values with %s', async (_, values) => {
    expect(await runHelmTemplate(values, 'purser-system')).toMatchObject({ code: 1, stderr: expect.stringContaining('schema') });
  });
});

interface Binding extends Manifest {
  readonly roleRef: { readonly name: string };
  readonly subjects: readonly { readonly kind: string; readonly name: string }[];
}

type Objects = ReadonlyMap<string, Manifest>;

async function renderChart(values: object, namespace = 'purser-system'): Promise<Objects> {
  const { code, output, stderr } = await runHelmTemplate(values, namespace);
  if (code !== 0) throw new Error(stderr);
  return parseObjects(output);
}

async function runHelmTemplate(values: object, namespace: string) {
  return await runHelm(['template'], values, namespace);
}

async function runHelm(command: readonly string[], values: object, namespace: string) {
  const file = join(await newFolder(), 'values.json');
  await writeFile(file, JSON.stringify(values));
  return await run(helm(), [
    ...command,
    'purser',
    CHART,
    '--namespace',
    namespace,
    '--values',
    file,
    ...(command[0] === 'template' ? ['--api-versions', SERVED] : []),
  ]);
}

async function renderKustomization({ resources, components = [] }: Readonly<Record<string, readonly string[]>>): Promise<Objects> {
  const folder = join(await newFolder(), 'overlay');
  await mkdir(folder);
  const toRelative = (path: string) => relative(folder, join(DEPLOY, path));
  const kustomization = { resources: resources?.map(toRelative), components: components.map(toRelative) };
  await writeFile(join(folder, 'kustomization.yaml'), stringify(kustomization));
  return parseObjects(await runForOutput('kubectl', ['kustomize', folder]));
}

/** Returns objects by kind, namespace and name, without Helm's annotation to keep them. */
function parseObjects(text: string): Objects {
  const objects = parseAllDocuments(text).map((document) => document.toJS() as Manifest | null);
  return new Map(
    objects
      .filter((object) => object !== null)
      .map(
        (object) => [`${object.kind}/${object.metadata.namespace ?? ''}/${object.metadata.name}`, withoutKeepAnnotation(object)] as const,
      )
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

function withoutKeepAnnotation(object: Manifest): Manifest {
  const { annotations, ...metadata } = object.metadata as Manifest['metadata'] & {
    readonly annotations?: Readonly<Record<string, string>>;
  };
  const { 'helm.sh/resource-policy': _, ...others } = annotations ?? {};
  return { ...object, metadata: { ...metadata, ...(Object.keys(others).length > 0 && { annotations: others }) } };
}

async function runForOutput(name: string, args: readonly string[]): Promise<string> {
  const { code, output, stderr } = await run(findBinary(name) ?? name, args);
  if (code !== 0) throw new Error(stderr);
  return output;
}

function helm(): string {
  const path = helmBinary();
  if (path === undefined) throw new Error('helm was not found. Run `npm run kube:build`.');
  return path;
}
