import { describe, expect, it } from '@jest/globals';
import { discover } from './discover.ts';

describe('healthReply', () => {
  it.each(['healthz', 'livez', 'readyz'])('returns ok for /%s', (endpoint) => {
    expect(discover(`/${endpoint}`)).toEqual({
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
      body: 'ok',
    });
    expect(discover(`/${endpoint}?verbose`)?.body).toBe(`[+]ping ok\n${endpoint} check passed\n`);
  });
});
