import { beforeEach, describe, expect, it } from '@jest/globals';
import { internalError, notFound } from '../../src/kubernetes/status.ts';
import { ApiWorld } from '../../test/support/api-world.ts';
import { type HandlerDeps, handle } from '../handler.ts';
import type { IncomingRequest } from '../request.ts';

const OK = { status: 200, headers: {}, body: 'ok' };

describe('handle', () => {
  let deps: HandlerDeps;
  let faults: unknown[];
  let order: string[];
  beforeEach(async () => {
    const { api } = await ApiWorld.start();
    faults = [];
    order = [];
    deps = {
      ...api,
      whenDurable: async () => void order.push('durable'),
      endpoint: async () => OK,
      report: (error) => void faults.push(error),
    };
  });

  const incoming = (
    url: string,
    headers: Record<string, string> = { authorization: 'Bearer admintoken' },
    rest: Partial<IncomingRequest> = {},
  ) => ({
    method: 'GET',
    url,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    body: async () => Buffer.alloc(0),
    signal: new AbortController().signal,
    ...rest,
  });
  const throwing = (error: unknown) => async () => {
    order.push('endpoint');
    throw error;
  };

  it('responds only after the returned state is committed', async () => {
    const endpoint = async () => {
      order.push('endpoint');
      return OK;
    };
    expect(await handle({ ...deps, endpoint }, incoming('/api/v1/pods'))).toMatchObject({ status: 200, body: 'ok' });
    expect(order).toEqual(['endpoint', 'durable']);
  });

  it('repeats a read after a failed commit, but no watch or write', async () => {
    let failures = 2;
    const whenDurable = async () => {
      order.push('durable');
      if (failures-- > 0) throw internalError('disk full');
    };
    const endpoint = async () => {
      order.push('endpoint');
      return OK;
    };
    expect(await handle({ ...deps, whenDurable, endpoint }, incoming('/api/v1/pods'))).toMatchObject({ status: 200 });
    expect(order).toEqual(['endpoint', 'durable', 'endpoint', 'durable', 'endpoint', 'durable']);
    failures = 2;
    for (const [url, method] of [
      ['/api/v1/pods?watch=true', 'GET'],
      ['/api/v1/namespaces', 'POST'],
    ] as const) {
      expect(await handle({ ...deps, whenDurable, endpoint }, incoming(url, undefined, { method }))).toMatchObject({ status: 500 });
    }
    expect(order.slice(6)).toEqual(['endpoint', 'durable', 'endpoint', 'durable']);
  });

  it('rejects only after the state in the error is committed', async () => {
    const endpoint = throwing(notFound({ group: '', name: 'pods' }, 'one'));
    expect(await handle({ ...deps, endpoint }, incoming('/api/v1/namespaces/lab/pods/one'))).toMatchObject({ status: 404 });
    expect(order).toEqual(['endpoint', 'durable']);
  });

  it('responds with 500 and reports an unexpected error', async () => {
    const broken = new Error('a secret');
    const { status, body } = await handle({ ...deps, endpoint: throwing(broken) }, incoming('/api/v1/pods'));
    expect([status, faults]).toEqual([500, [broken]]);
    expect(body).not.toContain('a secret');
  });

  it('does not report errors after the caller disconnects', async () => {
    const request = incoming('/api/v1/pods', undefined, { signal: AbortSignal.abort() });
    expect(await handle({ ...deps, endpoint: throwing(new Error('aborted')) }, request)).toMatchObject({ status: 500 });
    expect(faults).toEqual([]);
  });

  it.each([
    ['a path that cannot be decoded', incoming('/api/v1/%zz'), 400],
    ['invalid credentials', incoming('/api/v1/pods', { authorization: 'Bearer nope' }), 401],
    ['an anonymous caller', incoming('/api/v1/pods', {}), 403],
    ['a user without permissions', incoming('/api/v1/pods', { authorization: 'Bearer bobtoken' }), 403],
    [
      'a user without permission to impersonate',
      incoming('/api/v1/pods', { authorization: 'Bearer bobtoken', 'impersonate-user': 'admin' }),
      403,
    ],
    [
      'an impersonated group without a user',
      incoming('/api/v1/pods', { authorization: 'Bearer admintoken', 'impersonate-group': 'system:masters' }),
      400,
    ],
    ['an unknown method', incoming('/api/v1/pods', { authorization: 'Bearer bobtoken' }, { method: 'OPTIONS' }), 403],
    ['HEAD without permission', incoming('/api/v1/pods', { authorization: 'Bearer bobtoken' }, { method: 'HEAD' }), 403],
  ])('rejects a request before the endpoint: %s', async (_, request, status) => {
    const reply = await handle({ ...deps, endpoint: throwing(new Error('reached')) }, request);
    expect([reply.status, order.includes('endpoint'), faults]).toEqual([status, false, []]);
  });
});
