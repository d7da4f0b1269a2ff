import { describe, expect, it } from '@jest/globals';
import { serviceAccountKind } from '../../kinds/service-account.ts';
import { createdText } from './write.ts';

describe('serviceAccountKind', () => {
  it('keeps only the names of referenced Secrets', () => {
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

  it('returns the ServiceAccount on delete', () => {
    expect(serviceAccountKind.rules.deleteReturnsObject).toBe(true);
  });
});
