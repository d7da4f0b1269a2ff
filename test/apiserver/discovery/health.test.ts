import { describe, expect, it } from '@jest/globals';
import { discover } from './discover.ts';

describe('health', () => {
  it.each(['healthz', 'livez', 'readyz'])('/%s is ok when all checks pass', (endpoint) => {
    expect(discover(`/${endpoint}`)).toEqual({
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
      body: 'ok',
    });
    expect(discover(`/${endpoint}?verbose`)?.body).toBe(`[+]ping ok\n[+]storage ok\n${endpoint} check passed\n`);
  });

  it('names what fails, but not why', () => {
    expect(discover('/readyz', { failing: ['storage'] })).toMatchObject({
      status: 500,
      body: '[+]ping ok\n[-]storage failed: reason withheld\nreadyz check failed\n',
    });
  });

  it('leaves out what the caller excludes', () => {
    expect(discover('/readyz?exclude=storage&exclude=nope&verbose', { failing: ['storage'] })).toMatchObject({
      status: 200,
      body: '[+]ping ok\n[+]storage excluded: ok\nwarn: some health checks cannot be excluded: no matches for "nope"\nreadyz check passed\n',
    });
  });

  it('can be asked about one thing', () => {
    expect(discover('/livez/storage')).toMatchObject({ status: 200, body: 'ok' });
    expect(discover('/livez/storage', { failing: ['storage'] })).toMatchObject({ status: 500, body: 'internal server error: disk full\n' });
    expect(discover('/livez/nope')).toMatchObject({ status: 404, body: '404 page not found\n' });
  });
});
