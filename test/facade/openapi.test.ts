import { afterEach, describe, expect, it } from '@jest/globals';
import { FacadeWorld } from './facade-world.ts';

let world: FacadeWorld;
afterEach(() => world.close());

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

  it('contains all schemas that it refers to', async () => {
    world = await FacadeWorld.start();
    const { body } = await world.request('GET', '/openapi/v3');
    const { components } = JSON.parse(body) as Document;
    const referred = [...body.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
    expect(referred).toContain('TokenRequest');
    expect(referred.filter((name) => !Object.hasOwn(components.schemas, name ?? ''))).toEqual([]);
  });
});
