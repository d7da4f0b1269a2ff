import { describe, expect, it } from '@jest/globals';
import { discover } from './discover.ts';

describe('health', () => {
  it.each(['healthz', 'livez', 'readyz'])('/%s is ok when all checks pass', (endpoint) => {
    expect(discover(`/${endpoint}`)).toEqual({
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
      body: 'ok',
    });
    expect(discover(`/${endpoint}?verbose`)?.body).toBe(`[+]ping ok\n${endpoint} check passed\n`);
  });

  it('leaves out what the caller excludes', () => {
    expect(discover('/readyz?exclude=ping&exclude=nope&verbose')).toMatchObject({
      status: 200,
      body: '[+]ping excluded: ok\nwarn: some health checks cannot be excluded: no matches for "nope"\nreadyz check passed\n',
    });
  });

  it('can be asked about one thing', () => {
    expect(discover('/livez/ping')).toMatchObject({ status: 200, body: 'ok' });
    expect(discover('/livez/nope')).toMatchObject({ status: 404, body: '404 page not found\n' });
  });
});
