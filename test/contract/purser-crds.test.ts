// Purser's CRDs on the server under test: cases of the schemas, samples, status writes and printer columns.

import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { yamlFiles } from '../api/custom-resource.ts';
import { clusters, managedTokens } from '../api/custom-resource-cases.ts';
import { managedTokenSets } from '../api/token-set-cases.ts';
import { createAdmin } from './admin.ts';
import { createSender, outcome } from './requests.ts';
import { contractServer } from './server.ts';

const server = contractServer();
const send = createSender(server);
const CLUSTERS = '/apis/registry.purser.dev/v1alpha1/clusters';
const TOKENS = '/apis/tokens.purser.dev/v1alpha1/managedtokens';
const SETS = '/apis/tokens.purser.dev/v1alpha1/managedtokensets';
const TEAM_SETS = '/apis/tokens.purser.dev/v1alpha1/namespaces/team-a/managedtokensets';
const TEAM = '/apis/tokens.purser.dev/v1alpha1/namespaces/team-a/managedtokens';

interface Sample {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

declare const testServer: 'embedded' | 'real';

/** Objects of the samples. The embedded server does not serve ResourceQuotas. */
const samples = yamlFiles('deploy/samples/')
  .flatMap(([file, content]) => parseAllDocuments(content).map((document) => [file, document.toJS() as Sample] as const))
  .filter(([, { kind }]) => kind !== 'ResourceQuota' || testServer === 'real');

beforeAll(async () => {
  const admin = createAdmin(server);
  for (const [, content] of yamlFiles('crds/')) {
    const definition = parse(content) as { readonly metadata: { readonly name: string } };
    const [plural] = definition.metadata.name.split('.');
    await admin.define(definition, [CLUSTERS, TOKENS, SETS].find((path) => path.endsWith(`/${plural}`)) ?? '');
  }
  for (const name of ['team-a', 'purser-system', 'gitops']) await admin.create('/api/v1/namespaces', { metadata: { name } });
});

describe.each([
  ['Cluster', CLUSTERS, clusters],
  ['ManagedToken', TEAM, managedTokens],
  ['ManagedTokenSet', TEAM_SETS, managedTokenSets],
])('%s', (kind, path, cases) => {
  it.each(cases.map((each) => [each.name, each] as const))('%s', async (_, { object, rejected }) => {
    const { status, body, warnings } = await send(`${path}?dryRun=All&fieldValidation=Strict`, { body: object });
    expect(warnings).toEqual([]);
    if (rejected === undefined) return expect([status, body.message]).toEqual([201, undefined]);
    const { causes } = body['details'] as { readonly causes: readonly { readonly field: string; readonly message: string }[] };
    // A cause without a field reports that CEL rules were not evaluated.
    const relevant = causes.filter(({ field }) => field !== '<nil>');
    expect([status, body.message]).toEqual([
      422,
      expect.stringContaining(`${kind}.${object.apiVersion.split('/')[0]} "${object.metadata.name}" is invalid: `),
    ]);
    expect(relevant).toEqual([
      expect.objectContaining({ field: matchField(rejected.field), message: expect.stringContaining(rejected.message) }),
    ]);
  });

  it('rejects unknown fields', async () => {
    const [{ object } = { object: { spec: {} } }] = cases;
    const body = { ...object, spec: { ...(object.spec as object), unknown: 1 } };
    expect(outcome(await send(`${path}?fieldValidation=Strict`, { body }))).toBe(
      `400 BadRequest: ${kind} in version "v1alpha1" cannot be handled as a ${kind}: strict decoding error: unknown field "spec.unknown"`,
    );
  });
});

describe('deploy/samples', () => {
  it.each(samples.map(([file, sample]) => [`${file}: ${sample.kind} ${sample.metadata.name}`, sample] as const))(
    'contains an object that can be applied: %s',
    async (_, sample) => {
      const path = `${pathOf(sample)}/${sample.metadata.name}?fieldManager=samples&fieldValidation=Strict&force=true`;
      const headers = { 'content-type': 'application/apply-patch+yaml' };
      const { status, body, warnings } = await send(path, { method: 'PATCH', headers, body: sample });
      expect([body.message, warnings]).toEqual([undefined, []]);
      expect([200, 201]).toContain(status);
    },
  );
});

describe('status of a ManagedToken', () => {
  it('keeps spec, metadata and field managers when a client writes the status with a partial object', async () => {
    const name = 'reduced';
    const manifest = {
      apiVersion: 'tokens.purser.dev/v1alpha1',
      kind: 'ManagedToken',
      metadata: { name, namespace: 'team-a', labels: { team: 'a' }, annotations: { 'example.com/a': 'b' }, finalizers: ['example.com/f'] },
      spec: { clusterName: 'c', serviceAccount: { namespace: 'n', name: 'a' }, audiences: ['x'], secret: { labels: { app: 'a' } } },
    };
    const headers = { 'content-type': 'application/apply-patch+yaml' };
    const { body: applied } = await send(`${TEAM}/${name}?fieldManager=them`, { method: 'PATCH', headers, body: manifest });
    const stored = applied as unknown as Stored;
    const { uid, resourceVersion } = stored.metadata;
    const { labels: _, ...secret } = stored.spec.secret;
    const reduced = {
      apiVersion: manifest.apiVersion,
      kind: manifest.kind,
      metadata: { name, namespace: 'team-a', uid, resourceVersion },
      spec: { ...stored.spec, secret },
      status: { rotations: 7 },
      isTooLarge: true,
    };
    const { status, body } = await send(`${TEAM}/${name}/status?fieldManager=purser`, { method: 'PUT', body: reduced });
    const written = body as unknown as Stored;
    const ownedFields = ({ metadata }: Stored) => metadata.managedFields.find(({ manager }) => manager === 'them')?.fieldsV1;
    expect([status, written.status, written.spec]).toEqual([200, { rotations: 7 }, stored.spec]);
    expect(written.metadata).toMatchObject(manifest.metadata);
    expect(ownedFields(written)).toEqual(ownedFields(stored));
  });
});

interface Stored {
  readonly metadata: {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly managedFields: readonly { readonly manager: string; readonly fieldsV1: unknown }[];
  };
  readonly spec: { readonly secret: { readonly labels?: unknown } };
  readonly status?: unknown;
}

describe('Table', () => {
  const table = async (path: string) => {
    const { body } = await send(path, { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } });
    return (body['columnDefinitions'] as readonly { readonly name: string; readonly type: string; readonly priority: number }[]).map(
      ({ name, type, priority }) => `${name} ${type} ${priority}`,
    );
  };

  it('contains the declared columns of ManagedTokens', async () => {
    expect(await table(TOKENS)).toEqual(await declaredColumns('managedtokens.tokens.purser.dev'));
  });

  it('contains the declared columns of ManagedTokenSets', async () => {
    expect(await table(SETS)).toEqual(await declaredColumns('managedtokensets.tokens.purser.dev'));
  });

  it('contains the declared columns of Clusters', async () => {
    expect(await table(CLUSTERS)).toEqual(await declaredColumns('clusters.registry.purser.dev'));
  });
});

async function declaredColumns(name: string): Promise<readonly string[]> {
  const { body } = await send(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`);
  const { versions } = body['spec'] as {
    readonly versions: readonly {
      readonly additionalPrinterColumns: readonly { readonly name: string; readonly type: string; readonly priority?: number }[];
    }[];
  };
  return [
    'Name string 0',
    ...(versions[0]?.additionalPrinterColumns ?? []).map((column) => `${column.name} ${column.type} ${column.priority ?? 0}`),
  ];
}

/** Matches the field of a cause: a duplicate is reported with its index, and rules report the value of a map in brackets. */
function matchField(path: string): unknown {
  const [parent, last] = [path.slice(0, path.lastIndexOf('.')), path.slice(path.lastIndexOf('.') + 1)];
  return expect.stringMatching(new RegExp(`^(${RegExp.escape(path)}(\\[1\\])?|${RegExp.escape(`${parent}[${last}]`)})$`));
}

function pathOf({ apiVersion, kind, metadata }: Sample): string {
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  const plural = `${kind.toLowerCase()}s`;
  return metadata.namespace === undefined ? `${root}/${plural}` : `${root}/namespaces/${metadata.namespace}/${plural}`;
}
