// Documented differences in the code of the comparison, and their rows in the documentation.

import { describe, expect, it } from '@jest/globals';
import { readText } from '../support/repository.ts';
import { differencesFor, ROWS } from './differences.ts';
import { expectationFor } from './expectation.ts';
import { requestOf } from './grammar.ts';
import type { FuzzRequest } from './request.ts';
import type { Comparable } from './response.ts';

const documented = new Set([...readText('docs/facade-differences.md').matchAll(/^\| (.*?) \|/gm)].map(([, title]) => title));

const request: FuzzRequest = {
  endpoint: 'token',
  method: 'POST',
  path: '/api/v1/namespaces/team-a/serviceaccounts/builder/token',
  query: '',
  headers: { authorization: 'Bearer alicetoken', 'content-type': 'application/json' },
  body: Buffer.from('{"spec":{"audiences":["vault"]}}'),
};

const resend = () => Promise.reject(new Error('no request is sent again'));

describe('ROWS', () => {
  it.each(ROWS)('names a row of docs/facade-differences.md: %s', (row) => expect(documented).toContain(row));
});

describe('expectationFor', () => {
  it('returns the response from kube-apiserver if no difference applies', async () => {
    const kube: Comparable = { status: 404, headers: { warning: '' }, body: '{"kind":"Status","code":404}' };
    const { response, rows } = await expectationFor({ request, kube, resend }, differencesFor(request, kube));
    expect({ response, rows }).toEqual({ response: kube, rows: [] });
  });

  it('returns 422 for a request without audiences', async () => {
    const kube: Comparable = { status: 404, headers: { warning: '' }, body: '{"kind":"Status","code":404}' };
    const exchange = { request: { ...request, body: Buffer.from('{}') }, kube, resend };
    const { response, rows } = await expectationFor(exchange, differencesFor(exchange.request, kube));
    expect({ status: response.status, rows }).toEqual({ status: 422, rows: ['no audiences'] });
  });

  it.each([
    ['a quoted text that continues at the start of a line', 'kind: "TokenRequest\nspec": {}\n', true],
    ['a quoted text that continues with indentation', 'kind: "TokenRequest\n  x"\nspec: {}\n', false],
    ['a quoted text that continues at the indentation of its key', 'metadata:\n  name: "multi\n  line"\n', true],
    ['a quote at the end of a plain text', 'kind: TokenRequest"\nspec:\n  audiences:\n    - "x"\n', false],
    ['a quote within a plain text', 'apiVersion: k8"s.io/v1\nkind: TokenRequest\n', false],
  ])('applies the row of unindented quoted YAML only to a line within quotes: %s', async (_, body, isApplied) => {
    const kube: Comparable = { status: 400, headers: { warning: '' }, body: '{"kind":"Status","code":400}' };
    const headers = { ...request.headers, 'content-type': 'application/yaml' };
    const exchange = { request: { ...request, headers, body: Buffer.from(body) }, kube, resend };
    const { rows } = await expectationFor(exchange, differencesFor(exchange.request, kube));
    expect(rows).toEqual(isApplied ? ['a quoted YAML string that continues on a line that is not indented more than its key'] : []);
  });
});

describe('requestOf', () => {
  it('returns the same request for the same seed and number', () => {
    const numbers = Array.from({ length: 300 }, (_, index) => index + 1);
    expect(numbers.map((number) => requestOf(7, number))).toEqual(numbers.map((number) => requestOf(7, number)));
  });

  it('returns different requests for another seed', () => {
    const texts = (seed: number) => new Set(Array.from({ length: 100 }, (_, index) => JSON.stringify(requestOf(seed, index))));
    expect(texts(1).intersection(texts(2)).size).toBeLessThan(20);
  });
});
