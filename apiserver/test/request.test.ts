import { describe, expect, it } from '@jest/globals';
import { parseUrl } from '../../src/kubernetes/request-url.ts';
import { parseRequestInfo } from '../request.ts';

const infoOf = (method: string, url: string) => {
  const { path, query } = parseUrl(url) ?? { path: '', query: new URLSearchParams() };
  return parseRequestInfo(method, path, query);
};

describe('parseRequestInfo', () => {
  it.each([
    ['GET', '/api/v1/pods', { verb: 'list', group: '', version: 'v1', namespace: '', resource: 'pods', name: '', isInNamespace: false }],
    ['HEAD', '/api/v1/pods', { verb: 'list', resource: 'pods' }],
    ['GET', '/api/v1/pods?watch', { verb: 'watch' }],
    ['GET', '/api/v1/pods?watch=FALSE', { verb: 'list' }],
    ['GET', '/api/v1/pods?watch=0&watch=1', { verb: 'list' }],
    ['GET', '/api/v1/namespaces/lab/pods', { verb: 'list', namespace: 'lab', resource: 'pods', isInNamespace: true }],
    ['GET', '/api/v1/namespaces/lab/pods/one?watch=1', { verb: 'get', namespace: 'lab', name: 'one' }],
    ['DELETE', '/api/v1/namespaces/lab/pods', { verb: 'deletecollection' }],
    ['DELETE', '/api/v1/namespaces/lab/pods/one', { verb: 'delete', name: 'one' }],
    ['POST', '/api/v1/namespaces/lab/serviceaccounts/robot/token', { verb: 'create', name: 'robot', subresource: 'token' }],
    ['PUT', '/apis/apps.dev/v1beta1/widgets/one/status', { verb: 'update', group: 'apps.dev', version: 'v1beta1', subresource: 'status' }],
    ['OPTIONS', '/api/v1/pods', { verb: '', resource: 'pods' }],
  ])('parses %s %s', (method, url, expected) => {
    expect(infoOf(method, url)).toMatchObject({ type: 'resource', ...expected });
  });

  it.each([
    ['/api/v1/namespaces/lab', { resource: 'namespaces', name: 'lab', subresource: '', namespace: 'lab' }],
    ['/api/v1/namespaces/lab/status', { resource: 'namespaces', name: 'lab', subresource: 'status' }],
    ['/api/v1/namespaces/lab/finalize', { resource: 'namespaces', name: 'lab', subresource: 'finalize' }],
    ['/api/v1/namespaces//pods', { resource: 'pods', namespace: '', isInNamespace: true }],
    ['/api/v1/namespaces/lab/status/one', { resource: 'namespaces', name: 'lab', subresource: 'status' }],
  ])('parses a path of a namespace or of its objects: %s', (url, expected) => {
    expect(infoOf('PATCH', url)).toMatchObject(expected);
  });

  it.each([
    ['/api/v1/pods?fieldSelector=metadata.name%3Done', 'one'],
    ['/api/v1/pods?fieldSelector=metadata.name%3Done&fieldSelector=metadata.name%3Dtwo', 'one'],
    ['/api/v1/pods?fieldSelector=metadata.name%21%3Done', ''],
    ['/api/v1/pods?fieldSelector=metadata.name%3Done%2Ftwo', ''],
    ['/api/v1/pods?fieldSelector=%3D%3D%3D', ''],
  ])('parses the name in the selector of %s', (url, name) => {
    expect(infoOf('GET', url)).toMatchObject({ verb: 'list', name });
  });

  it('ignores the selector of a DELETE', () => {
    expect(infoOf('DELETE', '/api/v1/pods?fieldSelector=metadata.name%3Done')).toMatchObject({ verb: 'deletecollection', name: '' });
  });

  it.each(['/', '/api', '/api/v1', '/apis/apps.dev/v1', '/healthz', '/openapi/v3/api/v1', '/apix/v1/pods'])(
    'parses %s as a path',
    (path) => {
      expect(infoOf('GET', path)).toEqual({ type: 'path', verb: 'get', path });
    },
  );

  it('treats an escaped slash as a slash', () => {
    expect(infoOf('GET', '/api/v1/namespaces/lab%2Fsecrets%2Fkey')).toMatchObject({ namespace: 'lab', resource: 'secrets', name: 'key' });
    expect(infoOf('GET', '/api/v1/namespaces/lab/pods/%2e%2e')).toMatchObject({ resource: 'pods', name: '..' });
  });
});
