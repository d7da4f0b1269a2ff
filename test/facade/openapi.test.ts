import { afterEach, describe, expect, it } from '@jest/globals';
import { CLUSTER_LISTING } from '../../src/facade/clusters/cluster-list.ts';
import { openApi, openApiDocument } from '../../src/facade/openapi.ts';
import { bytesOf, FacadeWorld } from './facade-world.ts';
import { statusOf } from './raw-connection.ts';

let world: FacadeWorld | undefined;
afterEach(() => world?.close());

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, object>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

describe('/openapi/v3', () => {
  it('returns the document without authentication', async () => {
    world = await FacadeWorld.start({ settings: { facadePort: 0, facadePath: 'kubernetes' } });
    const { status, headers, body } = await world.request('GET', '/openapi/v3');
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'application/json' });
    const document = JSON.parse(body) as Document;
    expect(document.openapi).toBe('3.0.0');
    expect(Object.keys(document.paths)).toEqual([
      '/kubernetes/{cluster}/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token',
      '/auth/v1/clusters',
      '/auth/v1/clusters/{name}',
    ]);
  });

  it.each(['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'])('rejects %s with 405 and the allowed method', async (method) => {
    world = await FacadeWorld.start();
    const lines = ['Host: facade.test', 'Content-Length: 0'];
    const { text } = await world.raw(bytesOf({ method, target: '/openapi/v3', lines, body: '' }), {
      isEnough: (so) => so.includes('\r\n\r\n'),
    });
    expect(statusOf({ text })).toBe(405);
    expect(text).toMatch(/\r\nallow: GET\r\n/i);
    expect(world.reviews).toEqual([]);
  });

  it('contains all schemas that it refers to', async () => {
    world = await FacadeWorld.start();
    const { body } = await world.request('GET', '/openapi/v3');
    const { components } = JSON.parse(body) as Document;
    const referred = [...body.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
    expect(referred).toContain('TokenRequest');
    expect(referred.filter((name) => !Object.hasOwn(components.schemas, name ?? ''))).toEqual([]);
  });
});

describe('openApiDocument', () => {
  it('shares the bytes of a representation between responses', () => {
    const { reply } = openApiDocument('kubernetes', [CLUSTER_LISTING]);
    const bodyFor = (accept: string) => reply({ preferences: { accept, userAgent: undefined, pretty: undefined } }).body;
    expect(bodyFor('application/json')).toBeInstanceOf(Buffer);
    expect(bodyFor('application/json')).toBe(bodyFor('*/*'));
    expect(bodyFor('application/yaml')).not.toBe(bodyFor('application/json'));
  });
});

describe('openApi', () => {
  it('documents a list of a namespaced kind for all namespaces, one namespace and one object', () => {
    const kind = { ...CLUSTER_LISTING.kind, kind: 'Widget', listKind: 'WidgetList', namespaced: true };
    const { paths, components } = openApi('kubernetes', [{ ...CLUSTER_LISTING, plural: 'widgets', kind }]);
    const operations = Object.entries(paths as Readonly<Record<string, { readonly get?: { readonly operationId: string } }>>).map(
      ([path, { get }]) => [path, get?.operationId],
    );
    expect(operations.slice(1)).toEqual([
      ['/auth/v1/widgets', 'listWidgetForAllNamespaces'],
      ['/auth/v1/namespaces/{namespace}/widgets', 'listNamespacedWidget'],
      ['/auth/v1/namespaces/{namespace}/widgets/{name}', 'readNamespacedWidget'],
    ]);
    expect(Object.keys(components.schemas)).toEqual(expect.arrayContaining(['Widget', 'WidgetList']));
  });
});
