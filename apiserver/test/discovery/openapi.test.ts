import { describe, expect, it } from '@jest/globals';
import { discover, document } from './discover.ts';

const LEASES = '/openapi/v3/apis/coordination.k8s.io/v1';

function hashOf(path: string): string {
  return String(discover(path)?.headers['etag']).replaceAll('"', '');
}

describe('openApiReply', () => {
  it('returns an index of documents by group and version', () => {
    const { paths } = document('/openapi/v3');
    expect(Object.keys(paths as object)).toEqual([
      'api/v1',
      'apis/coordination.k8s.io/v1',
      'apis/example.dev/v1alpha1',
      'apis/rbac.authorization.k8s.io/v1',
    ]);
    expect(paths).toMatchObject({ 'apis/coordination.k8s.io/v1': { serverRelativeURL: `${LEASES}?hash=${hashOf(LEASES)}` } });
    expect(discover('/openapi/v3')?.headers).toEqual({ 'content-type': 'text/plain; charset=utf-8' });
  });

  it('returns documents with an ETag', () => {
    expect(document(LEASES)).toMatchObject({ openapi: '3.0.0' });
    expect(discover(LEASES)?.headers).toEqual({ 'content-type': 'application/json', etag: `"${hashOf(LEASES)}"`, vary: 'Accept' });
  });

  it('allows caching of documents that are requested by hash', () => {
    expect(discover(`${LEASES}?hash=${hashOf(LEASES)}`)).toMatchObject({
      status: 200,
      headers: { 'cache-control': 'public, immutable' },
    });
  });

  it('returns the current document for an old hash, without caching', () => {
    const reply = discover(`${LEASES}?hash=OLD`);
    expect([reply?.status, reply?.headers['cache-control']]).toEqual([200, undefined]);
  });

  it('returns 304 for a known ETag', () => {
    expect(discover(LEASES, { ifNoneMatch: `"${hashOf(LEASES)}"` })).toMatchObject({ status: 304, body: '' });
  });

  it('returns 406 for types other than JSON', () => {
    expect(discover(LEASES, { accept: 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf' })?.status).toBe(406);
    expect(discover(LEASES, { accept: '*/*' })?.status).toBe(200);
  });

  it('returns 404 for unknown documents', () => {
    expect(discover('/openapi/v3/nope')).toEqual({ status: 404, headers: {}, body: '' });
    expect(discover('/openapi/v2')).toBeUndefined();
  });
});
