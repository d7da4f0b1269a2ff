// Checks the text of the manifests. test/real/deploy.test.ts applies them to a real server.

import { readdirSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { generateSchema } from '../../deploy/generate-schema.ts';
import { METADATA_BLOCKS } from '../../src/targets/dial-policy.ts';
import { readText } from '../support/repository.ts';
import { runPurser } from '../support/run-purser.ts';

interface Role {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules: readonly {
    readonly apiGroups?: readonly string[];
    readonly resources?: readonly string[];
    readonly resourceNames?: readonly string[];
    readonly verbs: readonly string[];
  }[];
}

interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly {
    readonly args: readonly string[];
    readonly lifecycle: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  }[];
}

const manifest = (path: string): unknown => parse(readText(`deploy/${path}`));
const deployment = manifest('base/workload/deployment.yaml') as {
  spec: { template: { spec: PodSpec } };
};
const [container] = deployment.spec.template.spec.containers;
const roles = parseAllDocuments(readText('deploy/base/access.yaml'))
  .map((document) => document.toJS() as Role)
  .filter(({ kind }) => kind.endsWith('Role'));

describe('Deployment', () => {
  it.each([
    ['by default', []],
    ['with only the controller', ['--components=controller']],
    ['with only the façade', ['--components=facade']],
    ['for named namespaces', ['--namespaces=team-a']],
  ])('passes valid options to Purser %s', async (_, more) => {
    const { program, config } = await runPurser([...(container?.args ?? []), ...more]);
    expect(program).toBe('run');
    expect(config).toMatchObject({
      localOnly: [],
      facadePort: 7444,
      metricsPort: 7445,
    });
  });

  it.each([
    ['spec.replicas', 2],
    ['spec.strategy.rollingUpdate.maxUnavailable', 0],
    ['spec.template.spec.automountServiceAccountToken', false],
    ['spec.template.spec.enableServiceLinks', false],
    ['spec.template.spec.priorityClassName', 'purser'],
    ['spec.template.spec.securityContext.runAsNonRoot', true],
    ['spec.template.spec.securityContext.runAsUser', 65_532],
    ['spec.template.spec.securityContext.runAsGroup', 65_532],
    ['spec.template.spec.securityContext.seccompProfile.type', 'RuntimeDefault'],
    ['spec.template.spec.containers.0.securityContext.allowPrivilegeEscalation', false],
    ['spec.template.spec.containers.0.securityContext.readOnlyRootFilesystem', true],
    ['spec.template.spec.containers.0.securityContext.capabilities', { drop: ['ALL'] }],
    ['spec.template.spec.containers.0.resources.limits', { cpu: '1', memory: '512Mi' }],
    ['spec.template.spec.containers.0.livenessProbe.httpGet', { path: '/livez', port: 'metrics', scheme: 'HTTPS' }],
    // A frozen process is killed ten seconds after its third failed probe, instead of 40.
    ['spec.template.spec.containers.0.livenessProbe.terminationGracePeriodSeconds', 10],
    // A probe before the process is ready would leave a warning event at every start.
    ['spec.template.spec.containers.0.startupProbe.initialDelaySeconds', 5],
    ['spec.template.spec.containers.0.readinessProbe.initialDelaySeconds', 5],
    ['spec.template.spec.containers.0.readinessProbe.httpGet', { path: '/readyz', port: 'metrics', scheme: 'HTTPS' }],
    // Kubernetes would extend a projected token of 3607 seconds to one year.
    ['spec.template.spec.volumes.0.projected.sources.0.serviceAccountToken.expirationSeconds', 3_600],
  ])('sets %s to %j', (path, value) => {
    expect(deployment).toHaveProperty(path, value);
  });

  it('sets no AppArmor profile, because a node without AppArmor rejects such a pod', () => {
    expect(deployment).not.toHaveProperty('spec.template.spec.securityContext.appArmorProfile');
    expect(deployment).not.toHaveProperty('spec.template.spec.containers.0.securityContext.appArmorProfile');
  });

  it('allows more time to stop than Purser needs', () => {
    const [, stopMs = ''] = /STOP_MS = ([\d_]+)/.exec(readText('src/operator.ts')) ?? [];
    const { terminationGracePeriodSeconds, containers } = deployment.spec.template.spec;
    // The preStop hook keeps the pod serving until nodes have removed it from the Service.
    const preStopSeconds = containers[0]?.lifecycle.preStop.sleep.seconds ?? 0;
    expect(preStopSeconds).toBeGreaterThanOrEqual(5);
    expect((terminationGracePeriodSeconds - preStopSeconds) * 1_000).toBeGreaterThan(Number(stopMs.replaceAll('_', '')));
  });
});

describe('NetworkPolicy', () => {
  const policy = manifest('base/network-policy.yaml');

  it('allows ingress to the façade from all sources, and to metrics only from the monitoring namespace', () => {
    expect(policy).toHaveProperty('spec.policyTypes', ['Ingress', 'Egress']);
    expect(policy).toHaveProperty('spec.ingress.0', { ports: [{ port: 'facade' }] });
    expect(policy).toHaveProperty('spec.ingress.1.from.0.namespaceSelector.matchLabels', { 'kubernetes.io/metadata.name': 'monitoring' });
    expect(policy).not.toHaveProperty('spec.ingress.2');
  });

  it('blocks egress to the metadata services that Purser never connects to', () => {
    const ofFamily = (family: number) => METADATA_BLOCKS.filter((block) => isIP(block.split('/')[0] ?? '') === family);
    expect(policy).toHaveProperty('spec.egress.1.to.0.ipBlock', { cidr: '0.0.0.0/0', except: ['169.254.0.0/16', ...ofFamily(4)] });
    expect(policy).toHaveProperty('spec.egress.1.to.1.ipBlock', { cidr: '::/0', except: ['fe80::/10', ...ofFamily(6)] });
  });
});

/** Returns every RBAC rule in a manifest: rules of roles, and rules that patches add to roles. */
function rulesIn(value: unknown): readonly Role['rules'][number][] {
  if (Array.isArray(value)) return value.flatMap(rulesIn);
  if (typeof value !== 'object' || value === null) return [];
  if ('verbs' in value) return [value as Role['rules'][number]];
  return Object.entries(value).flatMap(([key, item]) => rulesIn(key === 'patch' ? parse(String(item)) : item));
}

const deployed = readdirSync(join(import.meta.dirname, '../../deploy'), { recursive: true, encoding: 'utf8' });
const manifests = deployed.filter((path) => path.endsWith('.yaml') && !path.startsWith('chart/'));
const withRules = manifests
  .map((path) => ({ path, rules: parseAllDocuments(readText(`deploy/${path}`)).flatMap((document) => rulesIn(document.toJS())) }))
  .filter(({ rules }) => rules.length > 0);

describe('roles', () => {
  it('finds roles in all expected files', () => {
    expect(withRules.map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        'base/access.yaml',
        'base/people.yaml',
        'components/credential-namespaces/access-fleet.yaml',
        'components/federation/access.yaml',
        'components/install-crds/kustomization.yaml',
        'overlays/namespaces/access-events.yaml',
        'target/access.yaml',
        'target/namespaces/renewal.yaml',
      ]),
    );
  });

  it.each(withRules)('grants no wildcards, impersonation or escalation in $path', ({ path, rules }) => {
    // Purser may create tokens on targets, and on the hub only of named service accounts.
    const denied = new Set([
      '*',
      'impersonate',
      'escalate',
      'bind',
      'deletecollection',
      ...(/\btarget\b/.test(path) ? [] : ['serviceaccounts/token']),
    ]);
    const isFederation = ({ resources, resourceNames = [], verbs }: Role['rules'][number]) =>
      String(resources) === 'serviceaccounts/token' && resourceNames.length > 0 && String(verbs) === 'create';
    const words = rules
      .filter((rule) => !isFederation(rule))
      .flatMap(({ apiGroups = [], resources = [], verbs }) => [...apiGroups, ...resources, ...verbs]);
    expect(words.filter((word) => denied.has(word))).toEqual([]);
  });
});

describe('roles of Purser', () => {
  it('grants the façade no write permission except the creation of reviews', () => {
    const verbs = roles
      .filter(({ metadata }) => ['purser-facade', 'purser-facade-tokens', 'purser-credentials'].includes(metadata.name))
      .flatMap((role) => role.rules);
    const written = verbs
      .filter((rule) => rule.verbs.some((verb) => !['get', 'list', 'watch'].includes(verb)))
      .flatMap(({ resources }) => resources);
    expect(new Set(written)).toEqual(new Set(['subjectaccessreviews', 'tokenreviews']));
  });
});

describe('certificate of cert-manager', () => {
  it('includes the DNS names that callers on the hub, Prometheus and forwarded ports use', () => {
    const [certificate] = parseAllDocuments(readText('deploy/components/cert-manager/certificates.yaml'));
    const facade = /facade=https:\/\/([\w.-]+)/g;
    const documented = [...readText('docs/operating.md').matchAll(facade)].map(([, name]) => name);
    expect(documented).toEqual(['purser.purser-system.svc', 'localhost']);
    expect(certificate?.toJS()).toMatchObject({
      metadata: { name: 'purser-facade' },
      spec: { dnsNames: expect.arrayContaining(documented) },
    });
  });
});

describe('versions', () => {
  it('uses the version of package.json for the image and the chart', () => {
    const { version } = JSON.parse(readText('package.json')) as { version: string };
    expect(manifest('chart/Chart.yaml')).toMatchObject({ version, appVersion: version });
    expect(manifest('chart/values.yaml')).toMatchObject({ image: { tag: version } });
    expect(deployment).toHaveProperty('spec.template.spec.containers.0.image', `purser:${version}`);
  });
});

describe('schema of the chart', () => {
  it("lists Purser's options (run `npm run generate` if this fails)", async () => {
    expect(readText('deploy/chart/values.schema.json')).toBe(await generateSchema());
  });
});

describe('chart', () => {
  it('has icon.svg as its icon', () => {
    const icon = Buffer.from(readText('deploy/chart/icon.svg')).toString('base64');
    expect(manifest('chart/Chart.yaml')).toHaveProperty('icon', `data:image/svg+xml;base64,${icon}`);
  });

  it('lists every value in its README', () => {
    const listed = [...readText('deploy/chart/README.md').matchAll(/^\| `([\w.]+)` \|/gm)].map(([, name]) => name);
    const declared = valuesIn(schema.properties);
    expect(new Set(listed)).toEqual(new Set(declared.filter((name) => name !== 'global')));
  });

  it('has a default for every value', () => {
    const values = manifest('chart/values.yaml');
    const missing = valuesIn(schema.properties).filter((name) => name !== 'global' && !hasPath(values, name));
    expect(missing).toEqual([]);
  });
});

interface ValueSchema {
  readonly properties?: Readonly<Record<string, ValueSchema>>;
}

const schema = JSON.parse(readText('deploy/chart/values.schema.json')) as Required<ValueSchema>;
/** Objects that Kubernetes defines, and Purser's options; the README lists each as one value. */
const WHOLE: ReadonlySet<string> = new Set(['affinity', 'certManager.issuerRef', 'options', 'resources']);

/** Returns the paths of all values of a schema. */
function valuesIn(properties: Required<ValueSchema>['properties'], prefix = ''): readonly string[] {
  return Object.entries(properties).flatMap(([name, { properties: inner }]) => {
    const path = `${prefix}${name}`;
    return inner === undefined || WHOLE.has(path) ? [path] : valuesIn(inner, `${path}.`);
  });
}

function hasPath(values: unknown, path: string): boolean {
  return path.split('.').reduce<unknown>((value, name) => Object(value)[name], values) !== undefined;
}

describe('kustomization of the custom resource definitions', () => {
  it('lists every custom resource definition', () => {
    const files = readdirSync(join(import.meta.dirname, '../../crds')).filter((name) => name.endsWith('.yaml'));
    expect(parse(readText('crds/Kustomization'))).toMatchObject({ resources: files.sort() });
  });
});
