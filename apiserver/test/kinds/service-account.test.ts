import { describe, expect, it } from '@jest/globals';
import { serviceAccountKind } from '../../kinds/service-account.ts';
import { createdText, objectOf } from './write.ts';

describe('a service account', () => {
  it('keeps only the names of its secrets', () => {
    expect(
      createdText(serviceAccountKind, {
        secrets: [{ name: 's', kind: 'Secret', namespace: 'q' }, {}],
        imagePullSecrets: [{ name: 'p' }],
        automountServiceAccountToken: false,
      }),
    ).toBe(
      '{"kind":"ServiceAccount","apiVersion":"v1","metadata":{"name":"x","namespace":"team-a"},"secrets":[{"name":"s"},{}],"imagePullSecrets":[{"name":"p"}],"automountServiceAccountToken":false}',
    );
  });

  it('warns of an annotation that is on its way out, once', () => {
    const annotated = objectOf(serviceAccountKind, { metadata: { annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } } });
    expect(serviceAccountKind.rules.warnings(annotated)).toEqual([
      'metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets',
    ]);
    expect(serviceAccountKind.rules.warnings(annotated, annotated)).toEqual([]);
  });

  it('is answered when it is deleted', () => {
    expect(serviceAccountKind.rules.deleteReturnsObject).toBe(true);
  });
});
