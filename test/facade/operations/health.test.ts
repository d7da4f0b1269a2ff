import { describe, expect, it } from '@jest/globals';
import { createHealthReply, type HealthChecks } from '../../../src/facade/operations/health.ts';

function health(isSynced: boolean): HealthChecks {
  const ping = { name: 'ping', passes: () => true };
  return { livez: [ping], readyz: [ping, { name: 'informer-sync', passes: () => isSynced }] };
}

function get(url: string, isSynced = true) {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  const reply = createHealthReply(health(isSynced), pathname, searchParams);
  return reply && { status: reply.status, body: reply.body };
}

describe('createHealthReply', () => {
  it.each([
    ['/livez', 'ok'],
    ['/readyz', 'ok'],
    ['/readyz/', 'ok'],
    ['/readyz/ping', 'ok'],
    ['/readyz?verbose', '[+]ping ok\n[+]informer-sync ok\nreadyz check passed\n'],
    ['/livez?verbose=1', '[+]ping ok\nlivez check passed\n'],
    ['/readyz?verbose&exclude=ping', '[+]ping excluded: ok\n[+]informer-sync ok\nreadyz check passed\n'],
    [
      '/readyz?verbose&exclude=none',
      '[+]ping ok\n[+]informer-sync ok\nwarn: some health checks cannot be excluded: no matches for "none"\nreadyz check passed\n',
    ],
  ])('responds to %s as kube-apiserver does', (url, body) => {
    expect(get(url)).toEqual({ status: 200, body });
  });

  it.each([
    ['/readyz', '[+]ping ok\n[-]informer-sync failed: reason withheld\nreadyz check failed\n'],
    ['/readyz/informer-sync', 'internal server error: reason withheld\n'],
  ])('reports the failing check at %s without its reason', (url, body) => {
    expect(get(url, false)).toEqual({ status: 500, body });
  });

  it('excludes the check that ?exclude names', () => {
    expect(get('/readyz?exclude=informer-sync', false)).toEqual({ status: 200, body: 'ok' });
  });

  it('returns 404 for an unknown check', () => {
    expect(get('/readyz/none')?.status).toBe(404);
    expect(get('/livez/ping/more')).toBeUndefined();
    expect(get('/metrics')).toBeUndefined();
  });
});
