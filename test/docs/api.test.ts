import { describe, expect, it } from '@jest/globals';
import { apiReference } from '../../docs/generate-api.ts';
import { LISTINGS } from '../../src/facade/lists.ts';
import { openApi } from '../../src/facade/openapi.ts';
import { readText } from '../support/repository.ts';

describe('docs/api.md', () => {
  it('is what crds/ and the façade say (run `npm run generate` when this fails)', async () => {
    expect(readText('docs/api.md')).toBe(await apiReference());
  });
});

describe('the OpenAPI document of the façade', () => {
  const document = openApi('orchestrator', LISTINGS);

  it('has the paths that are served', () => {
    const token = '/orchestrator/:cluster/api/v1/namespaces/:namespace/serviceaccounts/:name/token';
    const documented = Object.keys(document.paths).map((path) => path.replaceAll(/\{(\w+)\}/g, ':$1'));

    expect(documented).toEqual([token, '/auth/v1/clusters', '/auth/v1/clusters/:name']);
  });

  it('names a parameter for every placeholder of its paths', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      const placeholders = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const operation of Object.values(methods)) {
        const { parameters } = operation as { parameters: readonly { name: string; in: string }[] };
        expect(parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)).toEqual(placeholders);
      }
    }
  });

  it('refers to schemas that it has', () => {
    const referred = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name);
    expect(Object.keys(document.components.schemas)).toEqual(expect.arrayContaining(referred));
  });
});
