import { describe, expect, it } from '@jest/globals';
import { renderReference } from '../../docs/generate-api.ts';
import { ALL_LISTS } from '../../src/facade/lists.ts';
import { buildOpenApi } from '../../src/facade/openapi.ts';
import { readText } from '../support/repository.ts';

describe('docs/api.md', () => {
  it('matches crds/ and the OpenAPI document of the façade (run `npm run generate` if this fails)', async () => {
    expect(readText('docs/api.md')).toBe(await renderReference());
  });
});

describe('buildOpenApi', () => {
  const document = buildOpenApi('orchestrator', ALL_LISTS);

  it('describes exactly the paths of the token request, of both lists and of single objects', () => {
    const token = '/orchestrator/:cluster/api/v1/namespaces/:namespace/serviceaccounts/:name/token';
    const documented = Object.keys(document.paths).map((path) => path.replaceAll(/\{(\w+)\}/g, ':$1'));

    expect(documented).toEqual([
      token,
      '/auth/v1/clusters',
      '/auth/v1/clusters/:name',
      '/auth/v1/managedtokens',
      '/auth/v1/namespaces/:namespace/managedtokens',
      '/auth/v1/namespaces/:namespace/managedtokens/:name',
    ]);
  });

  it('declares a parameter for every placeholder in a path', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      const placeholders = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const operation of Object.values(methods)) {
        const { parameters } = operation as { parameters: readonly { name: string; in: string }[] };
        expect(parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)).toEqual(placeholders);
      }
    }
  });

  it('refers only to schemas that it defines', () => {
    const referred = [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name);
    expect(Object.keys(document.components.schemas)).toEqual(expect.arrayContaining(referred));
  });
});
