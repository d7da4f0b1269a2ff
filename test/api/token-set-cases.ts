// ManagedTokenSets that every API server with our CRDs accepts or rejects. The template repeats the cases of ManagedTokens.

import type { CustomResource, Value } from './custom-resource.ts';
import { type Case, managedToken, managedTokens } from './custom-resource-cases.ts';

type Spec = Readonly<Record<string, Value>>;

/** Returns a ManagedTokenSet with this template. */
function tokenSet(template: { readonly metadata?: Spec; readonly spec?: Spec } = {}, spec: Spec = {}): CustomResource {
  const { clusterName: _, ...tokenSpec } = managedToken(template.spec).spec as Spec;
  return {
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedTokenSet',
    metadata: { name: 'fleet', namespace: 'team-a' },
    spec: {
      clusterSelector: {},
      template: { ...(template.metadata && { metadata: template.metadata }), spec: tokenSpec },
      ...spec,
    },
  };
}

const SECRET = 'spec.template.spec.secret';
const META = 'spec.template.metadata';
const RESERVED = 'under kubernetes.io, k8s.io and purser.dev are reserved';
const LABEL_TEXT = `must consist of letters, digits, '-', '_', '.', {{cluster}} and {{label "name"}}`;
const ANNOTATION_TEXT = 'must not contain placeholders other than {{cluster}} and {{label "name"}}';

/** Cases of ManagedTokens whose fields differ in the template. */
const DIFFERENT_CASES = ['clusterName', 'a cluster name', 'all fields together', 'an invalid Secret name', 'an invalid label value'];

const inherited = managedTokens
  .filter(({ name }) => !DIFFERENT_CASES.some((other) => name.includes(other)))
  .map(({ name, object, rejected }): Case => {
    const { clusterName: _, ...spec } = object.spec as Spec;
    const field = rejected?.field.replace(/^spec/, 'spec.template.spec') ?? '';
    return { name: `${name} in the template`, object: tokenSet({ spec }), ...(rejected && { rejected: { ...rejected, field } }) };
  });

/** Valid and invalid ManagedTokenSets. */
export const managedTokenSets: readonly Case[] = [
  accepts('only required fields', tokenSet()),
  accepts(
    'all fields together',
    tokenSet(
      {
        metadata: { labels: { cluster: '{{cluster}}' }, annotations: { 'example.com/a': 'at {{label "topology/region"}} {' } },
        spec: {
          secret: { name: '{{cluster}}.{{label "env"}}-x', labels: { a: 'x-{{label "b/c.d"}}' }, annotations: { a: '{}{{cluster}}' } },
        },
      },
      {
        clusterSelector: {
          matchLabels: { env: 'prod' },
          matchExpressions: [
            { key: 'example.com/a', operator: 'In', values: ['x', ''] },
            { key: 'b', operator: 'DoesNotExist' },
          ],
        },
        rollout: { maxConcurrent: 1000 },
        clusterProfiles: true,
      },
    ),
  ),
  ...inherited,
  rejects('a Secret name without {{cluster}}', { spec: { secret: { name: 'token' } } }, `${SECRET}.name`, 'must contain {{cluster}}'),
  ...['{{cluster}}-A', '{{cluster}}-{{name}}', '{{ cluster }}-{{cluster}}', '{{cluster}}{{label "a b"}}'].map((name) =>
    rejects(`the Secret name ${name}`, { spec: { secret: { name } } }, `${SECRET}.name`, 'must consist of lowercase letters, digits'),
  ),
  rejects('a Secret label with a space', { spec: { secret: { labels: { a: 'b c' } } } }, `${SECRET}.labels.a`, LABEL_TEXT),
  rejects('an unknown placeholder in a label', { metadata: { labels: { a: '{{set}}' } } }, `${META}.labels.a`, LABEL_TEXT),
  rejects(
    'an unknown placeholder in an annotation',
    { metadata: { annotations: { a: '{{set}}' } } },
    `${META}.annotations.a`,
    ANNOTATION_TEXT,
  ),
  rejects(
    'a placeholder in an annotation of the Secret',
    { spec: { secret: { annotations: { a: '{{{cluster}}' } } } },
    `${SECRET}.annotations.a`,
    ANNOTATION_TEXT,
  ),
  rejects(
    'a placeholder in an audience',
    { spec: { audiences: ['{{label "a"}}'] } },
    'spec.template.spec.audiences[0]',
    'must not contain whitespace',
  ),
  rejects(
    'a placeholder in the namespace',
    { spec: { serviceAccount: { namespace: '{{cluster}}', name: 'x' } } },
    'spec.template.spec.serviceAccount.namespace',
    'must be a valid namespace',
  ),
  rejects('an invalid label name', { metadata: { labels: { 'a b': '' } } }, `${META}.labels`, 'label keys must be'),
  rejects('an invalid annotation name', { metadata: { annotations: { 'a b': '' } } }, `${META}.annotations`, 'annotation keys must be'),
  ...['kubernetes.io/a', 'node.k8s.io/a', 'tokens.purser.dev/rotate', 'registry.purser.dev/set'].flatMap((key) => [
    rejects(`the label ${key} of ManagedTokens`, { metadata: { labels: { [key]: 'x' } } }, `${META}.labels`, `labels ${RESERVED}`),
    rejects(
      `the annotation ${key} of ManagedTokens`,
      { metadata: { annotations: { [key]: 'x' } } },
      `${META}.annotations`,
      `annotations ${RESERVED}`,
    ),
  ]),
  rejectsSelector('an invalid value', { matchLabels: { a: 'b c' } }, 'matchLabels.a', 'must be a valid label value'),
  rejectsSelector('an invalid name', { matchLabels: { 'a b': '' } }, 'matchLabels', 'label keys must be'),
  rejectsSelector('an unknown operator', { matchExpressions: [{ key: 'a', operator: 'Gt' }] }, 'matchExpressions[0].operator', ''),
  rejectsSelector(
    'an invalid key',
    { matchExpressions: [{ key: '/', operator: 'Exists' }] },
    'matchExpressions[0].key',
    'must be a label name',
  ),
  rejectsSelector(
    'In without values',
    { matchExpressions: [{ key: 'a', operator: 'In' }] },
    'matchExpressions[0].values',
    'must have values for In and NotIn',
  ),
  rejectsSelector(
    'Exists with values',
    { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] },
    'matchExpressions[0].values',
    'must have values for In and NotIn',
  ),
  rejectsSelector(
    'an invalid listed value',
    { matchExpressions: [{ key: 'a', operator: 'In', values: ['b c'] }] },
    'matchExpressions[0].values[0]',
    'must be a valid label value',
  ),
  accepts(
    'clusterProfiles with the outputs Token and ArgoCD',
    tokenSet({ spec: { secret: { outputs: ['ArgoCD', 'Token'] } } }, { clusterProfiles: true }),
  ),
  rejectsProfiles(['ArgoCD']),
  rejectsProfiles(['Kubeconfig', 'ArgoCD']),
  ...[0, 1001].map((maxConcurrent) => ({
    name: `rejects maxConcurrent ${maxConcurrent}`,
    object: tokenSet({}, { rollout: { maxConcurrent } }),
    rejected: { field: 'spec.rollout.maxConcurrent', message: '' },
  })),
];

function rejectsProfiles(outputs: readonly string[]): Case {
  return {
    name: `rejects clusterProfiles with the outputs ${outputs.join(', ')}`,
    object: tokenSet({ spec: { secret: { outputs } } }, { clusterProfiles: true }),
    rejected: { field: `${SECRET}.outputs`, message: 'must contain Token if spec.clusterProfiles is true' },
  };
}

function accepts(name: string, object: CustomResource): Case {
  return { name: `accepts ${name}`, object };
}

function rejects(name: string, template: Parameters<typeof tokenSet>[0], field: string, message: string): Case {
  return { name: `rejects ${name}`, object: tokenSet(template), rejected: { field, message } };
}

function rejectsSelector(name: string, clusterSelector: Spec, field: string, message: string): Case {
  return {
    name: `rejects a selector with ${name}`,
    object: tokenSet({}, { clusterSelector }),
    rejected: { field: `spec.clusterSelector.${field}`, message },
  };
}
