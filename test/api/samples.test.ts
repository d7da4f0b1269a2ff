import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import type { ClusterSpec } from '../../src/api/cluster.gen.ts';
import type { ManagedTokenSpec } from '../../src/api/managed-token.gen.ts';
import type { ManagedTokenSetSpec } from '../../src/api/managed-token-set.gen.ts';
import { type CustomResource, schemaOf, violations, yamlFiles } from './custom-resource.ts';

interface Reference {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** Fields of all sample kinds. */
interface Sample extends CustomResource {
  readonly spec?: Partial<ClusterSpec & ManagedTokenSpec & Pick<ManagedTokenSetSpec, 'template'>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly rules?: readonly { readonly resourceNames?: readonly string[] }[];
  readonly roleRef?: Reference;
  readonly subjects?: readonly Reference[];
}

const samples = yamlFiles('deploy/samples/').flatMap(([file, text]) =>
  parseAllDocuments(text).map((document): readonly [file: string, document: Sample] => [file, document.toJS()]),
);
const all = samples.map(([, document]) => document);

describe('samples', () => {
  it.each(samples.map(([file, document]) => [`${file}: ${document.kind} ${document.metadata.name}`, document] as const))(
    'contains a valid object: %s',
    (_name, document) => {
      const schema = schemaOf(document);
      const ours = /[.]purser[.]dev[/]/.test(document.apiVersion);

      expect(schema !== undefined).toBe(ours);
      expect(schema === undefined ? [] : violations(schema, JSON.parse(JSON.stringify(document)))).toEqual([]);
    },
  );

  it.each(kind('ManagedToken').map((token) => [token.metadata.name, token] as const))(
    'grants the permission for the token of %s',
    (_name, token) => {
      const { clusterName, serviceAccount, requesterServiceAccountName = 'default' } = token.spec ?? {};

      expect(rulesOf(token.metadata.namespace, requesterServiceAccountName)).toContainEqual({
        apiGroups: ['registry.purser.dev'],
        resources: ['clusters/token'],
        resourceNames: [`${clusterName}/${serviceAccount?.namespace}/${serviceAccount?.name}`],
        verbs: ['issue'],
      });
      expect(names('Cluster')).toContain(clusterName);
      expect(names('Namespace')).toContain(token.metadata.namespace);
      expect(['default', ...names('ServiceAccount')]).toContain(requesterServiceAccountName);
    },
  );

  it.each(kind('ManagedTokenSet').map((set) => [`${set.metadata.namespace}/${set.metadata.name}`, set] as const))(
    'grants a permission for the tokens of the set %s',
    (_name, { metadata, spec }) => {
      const { serviceAccount, requesterServiceAccountName = 'default' } = spec?.template?.spec ?? {};
      const granted = rulesOf(metadata.namespace, requesterServiceAccountName).flatMap(({ resourceNames = [] }) => resourceNames);

      expect(granted.filter((name) => name.endsWith(`/${serviceAccount?.namespace}/${serviceAccount?.name}`))).not.toEqual([]);
      expect(names('Namespace')).toContain(metadata.namespace);
    },
  );

  it('contains every object once', () => {
    const keys = all.map(({ kind: of, metadata }) => `${of} ${metadata.namespace}/${metadata.name}`);
    expect(keys).toEqual([...new Set(keys)]);
  });

  it.each(kind('Cluster').map((cluster) => [cluster.metadata.name, cluster] as const))(
    'pins the credential of %s to its name, addresses and CA',
    (name, { spec }) => {
      const reference = spec?.authInfo?.controller;
      const credential = kind('Secret').find(({ metadata }) => metadata.name === reference?.name);

      expect(credential?.metadata.namespace).toBe(reference?.namespace);
      expect(credential?.stringData?.['server']?.trim().split('\n')).toEqual(
        spec?.orchestratorApiEndpoints?.serverEndpoints.map(({ serverAddress }) => serverAddress),
      );
      expect(credential?.stringData).toMatchObject({ cluster: name, 'ca.crt': 'system' });
    },
  );
});

function kind(name: string): readonly Sample[] {
  return all.filter((document) => document.kind === name);
}

/** Returns the rules of a service account. */
function rulesOf(namespace: string | undefined, name: string): NonNullable<Sample['rules']> {
  const bindings = kind('ClusterRoleBinding').filter(({ subjects }) =>
    isDeepStrictEqual(subjects, [{ kind: 'ServiceAccount', namespace, name }]),
  );
  const roles = kind('ClusterRole').filter(({ metadata }) => bindings.some(({ roleRef }) => roleRef?.name === metadata.name));
  return roles.flatMap(({ rules = [] }) => rules);
}

function names(of: string): readonly string[] {
  return kind(of).map(({ metadata }) => metadata.name);
}
