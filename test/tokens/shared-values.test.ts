import { describe, expect, it } from '@jest/globals';
import { shareFields } from '../../src/tokens/shared-values.ts';

function share<T extends object>(object: T): T {
  shareFields(object);
  return object;
}

describe('shareFields', () => {
  it('replaces a value with an earlier equal one', () => {
    const spec = () => ({ cluster: 'a', audiences: ['b'] });
    const first = share({ spec: spec() });
    const second = share({ spec: spec() });
    expect(second.spec).toBe(first.spec);
    expect(second).toEqual({ spec: spec() });
  });

  it('shares equal parts of values that differ', () => {
    const spec = (cluster: string) => ({ cluster, serviceAccount: { namespace: 'deploy', name: 'deployer' } });
    const first = share({ spec: spec('one') });
    const second = share({ spec: spec('two') });
    expect(second).toEqual({ spec: spec('two') });
    expect(second.spec.serviceAccount).toBe(first.spec.serviceAccount);
  });

  it('shares no value of more than 1 kB', () => {
    const long = () => ({ text: 'x'.repeat(1_024) });
    expect(share({ long: long() }).long).not.toBe(share({ long: long() }).long);
  });

  it('forgets old values, so that tenants cannot fill the memory', () => {
    const first = share({ spec: { cluster: 'old' } });
    for (let index = 0; index < 6_000; index++) share({ spec: { cluster: `new-${index}` } });
    expect(share({ spec: { cluster: 'old' } }).spec).not.toBe(first.spec);
  });

  it('keeps fields named __proto__', () => {
    const value = JSON.parse('{"spec":{"__proto__":{"a":"b"}}}') as object;
    expect(JSON.stringify(share(value))).toBe('{"spec":{"__proto__":{"a":"b"}}}');
  });

  it('leaves numbers, null and fields that are not named unchanged', () => {
    const object = { name: 'a', count: 1, list: null, spec: { cluster: 'unnamed' } };
    const { spec } = object;
    shareFields({ spec: { cluster: 'unnamed' } });
    shareFields(object, ['name', 'count', 'list', 'missing']);
    expect(JSON.stringify(object)).toBe('{"name":"a","count":1,"list":null,"spec":{"cluster":"unnamed"}}');
    expect(object.spec).toBe(spec);
  });
});
