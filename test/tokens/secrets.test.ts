import { expect, it } from '@jest/globals';
import { statusError, tooManyRequests } from '../../src/kubernetes/status.ts';
import type { StoredToken } from '../../src/tokens/policy/spec.ts';
import type { TokenRun } from '../../src/tokens/run.ts';
import { readSecret } from '../../src/tokens/secrets.ts';

const TOKEN = { metadata: { namespace: 'team', name: 'ci' } } as StoredToken;

function read(refusal: unknown) {
  const { signal } = new AbortController();
  return readSecret({ hub: { get: () => Promise.reject(refusal) }, signal } as unknown as TokenRun, TOKEN, 'ci');
}

it('reports SecretReadFailed for a Secret that cannot be read', async () => {
  await expect(read(statusError('Forbidden', 'no'))).rejects.toMatchObject({ reason: 'SecretReadFailed' });
});

it('reports the Retry-After of the hub for a Secret that cannot be read', async () => {
  await expect(read(tooManyRequests('busy', 9))).rejects.toMatchObject({ retryAfterMs: 9_000 });
});

it('returns undefined for a Secret that does not exist', async () => {
  expect(await read(statusError('NotFound', 'no'))).toBeUndefined();
});
