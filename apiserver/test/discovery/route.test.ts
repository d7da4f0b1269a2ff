import { describe, expect, it } from '@jest/globals';
import { bodyText, discover, document } from './discover.ts';

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

describe('serveDiscovery for single documents', () => {
  it.each([
    [
      '/api',
      '{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"127.0.0.1:6443"}]}\n',
    ],
    [
      '/apis/example.dev',
      '{"kind":"APIGroup","apiVersion":"v1","name":"example.dev","versions":[{"groupVersion":"example.dev/v1alpha1","version":"v1alpha1"}],"preferredVersion":{"groupVersion":"example.dev/v1alpha1","version":"v1alpha1"}}\n',
    ],
    [
      '/apis/example.dev/v1alpha1',
      '{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.dev/v1alpha1","resources":[{"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget","verbs":["delete","deletecollection","get","list","patch","create","update","watch"],"shortNames":["wd"],"storageVersionHash":"zPUMgwWRq9U="},{"name":"widgets/status","singularName":"","namespaced":true,"kind":"Widget","verbs":["get","patch","update"]}]}\n',
    ],
    [
      '/apis/authentication.k8s.io/v1',
      '{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"authentication.k8s.io/v1","resources":[{"name":"selfsubjectreviews","singularName":"selfsubjectreview","namespaced":false,"kind":"SelfSubjectReview","verbs":["create"]},{"name":"tokenreviews","singularName":"tokenreview","namespaced":false,"kind":"TokenReview","verbs":["create"]}]}\n',
    ],
  ])('returns the document of %s', (path, body) => {
    expect(discover(path)).toEqual({ status: 200, headers: { 'content-type': 'application/json' }, body });
    expect(discover(`${path}/`)?.body).toBe(body);
  });

  it('lists core resources without apiVersion, and the kinds of their subresources', () => {
    const { resources, ...head } = document('/api/v1');
    expect(head).toEqual({ kind: 'APIResourceList', groupVersion: 'v1' });
    expect(resources).toContainEqual({
      name: 'serviceaccounts/token',
      singularName: '',
      namespaced: true,
      group: 'authentication.k8s.io',
      version: 'v1',
      kind: 'TokenRequest',
      verbs: ['create'],
    });
  });

  it('lists all groups except the core group', () => {
    expect(document('/apis')['groups']).toHaveLength(5);
  });

  it('indents JSON for browsers and command lines, and returns YAML on request', () => {
    expect(discover('/api', { userAgent: 'curl/8' })?.body).toMatch(/^{\n {2}"kind": "APIVersions",\n/);
    expect(discover('/api?pretty=true')?.body).toMatch(/^{\n {2}"kind"/);
    expect(discover('/api', { accept: 'application/yaml' })).toMatchObject({
      headers: { 'content-type': 'application/yaml' },
      body: 'kind: APIVersions\nserverAddressByClientCIDRs:\n- clientCIDR: 0.0.0.0/0\n  serverAddress: 127.0.0.1:6443\nversions:\n- v1\n',
    });
  });

  it.each(['/apis/nope', '/apis/nope/v1', '/apis/example.dev/v9', '/apis/example.dev/v1alpha1/widgets', '/api/v1/pods', '/nope'])(
    'returns undefined for %s',
    (path) => {
      expect(discover(path)).toBeUndefined();
    },
  );

  it.each(['/api/v2', '/apis/rbac.authorization.k8s.io/v9'])('throws 404 for %s', (path) => {
    expect(() => discover(path)).toThrow('the server could not find the requested resource');
  });
});

describe('serveDiscovery for aggregated discovery', () => {
  it('returns all groups in one document with an ETag', () => {
    const reply = discover('/apis', { accept: `${AGGREGATED},application/json` });
    expect(reply?.headers).toEqual({
      'content-type': AGGREGATED,
      'cache-control': 'public',
      vary: 'Accept',
      etag: expect.stringMatching(/^"[0-9A-F]{128}"$/),
    });
    const items = document('/apis', { accept: AGGREGATED })['items'];
    expect(items).toContainEqual({
      metadata: { name: 'example.dev' },
      versions: [
        {
          version: 'v1alpha1',
          resources: [
            {
              resource: 'widgets',
              responseKind: { group: 'example.dev', version: 'v1alpha1', kind: 'Widget' },
              scope: 'Namespaced',
              singularResource: 'widget',
              verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
              shortNames: ['wd'],
              subresources: [
                {
                  subresource: 'status',
                  responseKind: { group: 'example.dev', version: 'v1alpha1', kind: 'Widget' },
                  verbs: ['get', 'patch', 'update'],
                },
              ],
            },
          ],
          freshness: 'Current',
        },
      ],
    });
  });

  it('omits the group and version of built-in kinds', () => {
    const body = bodyText('/api', { accept: AGGREGATED });
    expect(body).toMatch(
      /^{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io\/v2","metadata":{},"items":\[{"metadata":{},"versions":/,
    );
    expect(body).toContain('{"resource":"configmaps","responseKind":{"group":"","version":"","kind":"ConfigMap"},"scope":"Namespaced",');
    expect(body).toContain('"responseKind":{"group":"authentication.k8s.io","version":"v1","kind":"TokenRequest"}');
  });

  it('returns 304 for a known ETag', () => {
    const first = discover('/apis', { accept: AGGREGATED });
    const ifNoneMatch = String(first?.headers['etag']);
    expect(discover('/apis', { accept: AGGREGATED, ifNoneMatch })).toMatchObject({ status: 304, body: '' });
    expect(discover('/apis', { accept: AGGREGATED, ifNoneMatch, kinds: [] })?.status).toBe(200);
  });

  it.each([
    ['application/json', false],
    [`application/json,${AGGREGATED};q=0.1`, true],
    ['*/*;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList', true],
    [`${AGGREGATED};profile=nopeer,application/json`, true],
    ['application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json', false],
  ])('negotiates the Accept header %s, aggregated: %s', (accept, isAggregated) => {
    expect(discover('/api', { accept })?.headers['content-type'] === AGGREGATED).toBe(isAggregated);
  });
});

describe('serveDiscovery for /version', () => {
  it('returns the emulated release', () => {
    expect(document('/version')).toMatchObject({ major: '1', minor: '36', gitVersion: 'v1.36.4', gitTreeState: 'purser-embedded' });
    expect(discover('/version/')?.body).toBe(discover('/version')?.body);
  });
});

describe('serveDiscovery for health endpoints', () => {
  it.each(['healthz', 'livez', 'readyz'])('returns ok for /%s', (endpoint) => {
    expect(discover(`/${endpoint}`)).toEqual({
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
      body: 'ok',
    });
    expect(discover(`/${endpoint}?verbose`)?.body).toBe(`[+]ping ok\n${endpoint} check passed\n`);
  });
});
