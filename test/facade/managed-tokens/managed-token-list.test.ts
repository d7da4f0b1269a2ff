import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { ManagedToken } from '../../../src/api/managed-token.gen.ts';
import { MANAGED_TOKEN_LIST, PUBLIC_FIELDS } from '../../../src/facade/managed-tokens/managed-token-list.ts';
import type { PrinterColumn } from '../../../src/kubernetes/custom-table.ts';

interface CrdSchema {
  readonly properties?: Readonly<Record<string, CrdSchema>>;
  readonly items?: CrdSchema;
}

interface CrdVersion {
  readonly additionalPrinterColumns: readonly PrinterColumn[];
  readonly selectableFields: readonly { readonly jsonPath: string }[];
  readonly schema: { readonly openAPIV3Schema: CrdSchema };
}

function crdVersion(): CrdVersion {
  const { spec } = parse(readFileSync('crds/managedtokens.tokens.purser.dev.yaml', 'utf8')) as {
    readonly spec: { readonly versions: readonly [CrdVersion] };
  };
  return spec.versions[0];
}

/** Fields of the CRD that the list omits, with the reason. A new field of the CRD must be added here or to PUBLIC_FIELDS. */
const HIDDEN_FIELDS: Readonly<Record<string, string>> = {
  'status.lastRotateRequest': 'value of an annotation, and annotations are not public',
  'status.lastRevokeRequest': 'value of an annotation, and annotations are not public',
  'status.tokenDigest': "Purser's record of the token",
  'status.tokenSignature': "Purser's record of the token",
  'status.secretDigest': "Purser's record of the Secret",
  'status.secretRef.name': "Purser's record of the Secret; status.secretName is public",
  'status.secretRef.uid': "Purser's record of the Secret",
  'status.anchors.cluster': "Purser's record of anchors on target clusters",
  'status.anchors.namespace': "Purser's record of anchors on target clusters",
  'status.anchors.serviceAccount': "Purser's record of anchors on target clusters",
  'status.anchors.clusterUID': "Purser's record of anchors on target clusters",
  'status.anchors.credential': "Purser's record of the credential that anchors belong to",
};

/** Returns the paths of all fields without properties. */
function pathsIn({ properties, items }: CrdSchema, path = ''): readonly string[] {
  if (properties !== undefined)
    return Object.entries(properties).flatMap(([name, field]) => pathsIn(field, path === '' ? name : `${path}.${name}`));
  return items?.properties === undefined ? [path] : pathsIn(items, path);
}

/** Returns a value with every field of a schema. Each string in the value is the path of its field. */
function fillSchema(schema: CrdSchema & { readonly type?: string; readonly additionalProperties?: CrdSchema }, path = ''): unknown {
  const { type, properties, items, additionalProperties } = schema;
  if (properties !== undefined)
    return Object.fromEntries(
      Object.entries(properties).map(([name, field]) => [name, fillSchema(field, path === '' ? name : `${path}.${name}`)]),
    );
  if (additionalProperties !== undefined) return { key: path };
  if (items !== undefined) return [fillSchema(items, path)];
  return type === 'string' ? path : type === 'boolean' ? true : 7;
}

function pathsOf(value: unknown, path = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => pathsOf(item, path));
  if (typeof value !== 'object' || value === null || path.endsWith('.labels') || path.endsWith('.annotations')) return [path];
  return Object.entries(value).flatMap(([name, field]) => pathsOf(field, path === '' ? name : `${path}.${name}`));
}

const { spec, status } = crdVersion().schema.openAPIV3Schema.properties as { readonly spec: CrdSchema; readonly status: CrdSchema };
const METADATA = { name: 'ci', namespace: 'team-a', uid: 'u', resourceVersion: '1' };

describe('PUBLIC_FIELDS', () => {
  it('classifies every field of the CRD as public or private', () => {
    const fields = pathsIn({ properties: { spec, status } });
    expect([...PUBLIC_FIELDS, ...Object.keys(HIDDEN_FIELDS)].sort()).toEqual([...fields].sort());
  });
});

describe('MANAGED_TOKEN_LIST.toPublic', () => {
  const whole = { metadata: METADATA, spec: fillSchema(spec), status: fillSchema(status) };

  it('returns exactly the public fields of an object with every field of the CRD', () => {
    const { spec: publicSpec, status: publicStatus } = MANAGED_TOKEN_LIST.toPublic(whole as unknown as ManagedToken);
    expect([...pathsOf({ spec: publicSpec, status: publicStatus })].sort()).toEqual([...PUBLIC_FIELDS].sort());
  });

  it('returns no annotation, owner, finalizer or managed field', () => {
    const hidden = {
      annotations: { 'tokens.purser.dev/rotate': 'hidden', 'public.example.com/x': 'hidden' },
      managedFields: [{ manager: 'hidden' }],
      ownerReferences: [{ apiVersion: 'v1', kind: 'hidden', name: 'hidden', uid: 'hidden' }],
      finalizers: ['hidden'],
    };
    const labels = { team: 'a' };
    const token = { ...whole, metadata: { ...METADATA, labels, ...hidden } } as unknown as ManagedToken;
    expect(MANAGED_TOKEN_LIST.toPublic(token, ['public.example.com/']).metadata).toEqual({ ...METADATA, labels });
  });

  it('omits fields that the CRD does not have, and values of another type', () => {
    const token = {
      metadata: METADATA,
      data: 'hidden',
      spec: {
        clusterName: 'prod',
        secrets: 'hidden',
        audiences: [{ token: 'hidden' }, 'a'],
        serviceAccount: 'hidden',
        revocation: { a: 'hidden' },
      },
      status: { conditions: ['hidden', { type: 'Ready', token: 'hidden' }], expirationTimestamp: ['hidden'], ['__proto__']: 'hidden' },
    };
    const listed = MANAGED_TOKEN_LIST.toPublic(token as unknown as ManagedToken);
    expect(JSON.stringify(listed)).not.toContain('hidden');
    expect(listed['spec']).toEqual({ clusterName: 'prod', audiences: ['a'] });
    expect(listed['status']).toEqual({ conditions: [{ type: 'Ready' }] });
  });
});

describe('MANAGED_TOKEN_LIST.kind', () => {
  it('has the selectable fields of the CRD', () => {
    expect(Object.keys(MANAGED_TOKEN_LIST.kind.selectableFields)).toEqual(
      crdVersion().selectableFields.map(({ jsonPath }) => jsonPath.slice(1)),
    );
  });
});

describe('MANAGED_TOKEN_LIST.permission', () => {
  it('names the verbs get and list on managedtokens', () => {
    expect(MANAGED_TOKEN_LIST.permission).toEqual({
      verbs: ['get', 'list'],
      group: 'tokens.purser.dev',
      resource: 'managedtokens',
      namespaced: true,
    });
  });
});
