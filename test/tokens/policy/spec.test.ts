import { describe, expect, it } from '@jest/globals';
import { formatFieldError } from '../../../src/kubernetes/field-error.ts';
import { specProblems } from '../../../src/tokens/policy/spec.ts';
import { aToken } from '../../support/builders.ts';

const KEYS = [
  { key: 'caBundle', from: 'CA' },
  { key: 'my-token', from: 'Token' },
] as const;

const pod = { apiVersion: 'v1', kind: 'Pod', name: 'web-0' } as const;
const RANGE = 'must be a whole number from 600 to 4294967296';

describe('specProblems', () => {
  it.each([
    ['the shortest lifetime', { expirationSeconds: 600 }],
    ['the longest lifetime', { expirationSeconds: 2 ** 32 }],
    ['sixteen audiences', { audiences: Array.from({ length: 16 }, (_, index) => `${index}`) }],
    ['settings of Argo CD', { secret: { outputs: ['ArgoCD' as const], argocd: { project: 'platform' } } }],
    ['keys', { secret: { outputs: ['Token' as const], keys: KEYS } }],
    ['an audience of as many characters as the CRD allows', { audiences: ['\u{1f511}'.repeat(256)] }],
  ])('accepts %s', (_, spec) => {
    expect(specProblems(aToken().with(spec).build(), {})).toEqual([]);
  });

  it.each([
    ['599 seconds', { expirationSeconds: 599 }, `spec.expirationSeconds: Invalid value: 599: ${RANGE}`],
    ['2³²+1 seconds', { expirationSeconds: 2 ** 32 + 1 }, `spec.expirationSeconds: Invalid value: 4294967297: ${RANGE}`],
    ['-1 seconds', { expirationSeconds: -1 }, `spec.expirationSeconds: Invalid value: -1: ${RANGE}`],
    ['a fraction', { expirationSeconds: 600.5 }, `spec.expirationSeconds: Invalid value: 600.5: ${RANGE}`],
    [
      '3607 seconds for a token bound to a Pod',
      { expirationSeconds: 3607, boundObjectRef: pod },
      'spec.expirationSeconds: Invalid value: 3607: must not be 3607 for a token bound to a Pod, because Kubernetes can extend this lifetime to one year; use 3600 or 3608',
    ],
    ['no audience', { audiences: [] }, 'spec.audiences: Required value'],
    [
      'settings of Argo CD without the output ArgoCD',
      { secret: { outputs: ['Token' as const], argocd: {} } },
      'spec.secret.argocd: Forbidden: requires the ArgoCD output',
    ],
    [
      'a key of a chosen output',
      { secret: { outputs: ['Token' as const], keys: [...KEYS, { key: 'ca.crt', from: 'CA' as const }] } },
      'spec.secret.keys[2].key: Invalid value: "ca.crt": must not be token or a key of the chosen outputs',
    ],
    [
      'a repeated key',
      { secret: { outputs: ['Token' as const], keys: [...KEYS, { key: 'caBundle', from: 'Token' as const }] } },
      'spec.secret.keys[2].key: Invalid value: "caBundle": must not be repeated',
    ],
    ['an empty audience', { audiences: [''] }, 'spec.audiences[0]: Invalid value: "": must have 1 to 256 characters'],
    [
      'an audience that is too long',
      { audiences: ['x'.repeat(257)] },
      `spec.audiences[0]: Invalid value: "${'x'.repeat(257)}": must have 1 to 256 characters`,
    ],
    [
      'too many audiences',
      { audiences: Array.from({ length: 17 }, () => 'x') },
      'spec.audiences: Too many: 17: must have at most 16 items',
    ],
    [
      'boundObjectRef with revocation BoundSecret',
      { boundObjectRef: pod, revocation: 'BoundSecret' as const },
      'spec.boundObjectRef: Forbidden: cannot be combined with revocation BoundSecret',
    ],
  ])('rejects %s', (_, spec, problem) => {
    expect(specProblems(aToken().with(spec).build(), {}).map(formatFieldError)).toEqual([problem]);
  });

  it("rejects the façade's own audiences", () => {
    const token = aToken()
      .with({ audiences: ['api', 'facade'] })
      .build();
    expect(specProblems(token, { facadeAudiences: ['facade'] }).map(({ field }) => field)).toEqual(['spec.audiences[1]']);
    expect(specProblems(token, { facadeAudiences: [] })).toEqual([]);
  });

  it("rejects audiences that are reserved for Purser's own tokens, even if the settings allow them", () => {
    const audience = 'purser:https://10.0.0.1:6443';
    const token = aToken()
      .with({ audiences: ['api', audience] })
      .build();
    expect(specProblems(token, { allowedAudiences: ['api', audience] }).map(formatFieldError)).toEqual([
      `spec.audiences[1]: Invalid value: "${audience}": must not begin with purser:, which is reserved for Purser's own tokens`,
    ]);
  });

  it('rejects audiences that the settings do not allow', () => {
    const problems = specProblems(aToken().build(), { allowedAudiences: ['vault'] });
    expect(problems.map(formatFieldError)).toEqual([
      'spec.audiences[0]: Invalid value: "https://kubernetes.default.svc": must be an audience in --allowed-audiences; use another audience, or ask an administrator to add this one',
    ]);
  });

  it('rejects a ManagedToken in a namespace that holds cluster credentials', () => {
    const problems = (namespace: string) =>
      specProblems(aToken().withMetadata({ namespace }).build(), { credentialNamespaces: ['purser-system', 'fleet'] }).map(
        formatFieldError,
      );
    expect(problems('team-a')).toEqual([]);
    expect(problems('fleet')).toEqual([
      'metadata.namespace: Forbidden: holds cluster credentials; create the ManagedToken in another namespace',
    ]);
  });
});
