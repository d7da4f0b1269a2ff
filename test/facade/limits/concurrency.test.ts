import { describe, expect, it } from '@jest/globals';
import { computeWatchLimits } from '../../../src/facade/limits/concurrency.ts';

describe('computeWatchLimits', () => {
  it.each([
    ['no memory limit', undefined, [1_000, 7_500, 10_000], [1_000, 7_500, 10_000]],
    ['memory limit of 128Mi', 128 * 1024 * 1024, [50, 375, 500], [110, 825, 1_100]],
    ['memory limit of 512Mi', 512 * 1024 * 1024, [613, 4_593, 6_124], [1_000, 7_500, 10_000]],
    ['memory limit of 768Mi', 768 * 1024 * 1024, [1_000, 7_500, 10_000], [1_000, 7_500, 10_000]],
  ])(
    'returns the maximum numbers of watches per tenant, per address and in total, over HTTP/1.1 and HTTP/2: %s',
    (_what, bytes, http1, http2) => {
      const { perTenant, perAddress = 0, total, perConnection, perStream } = computeWatchLimits(bytes);
      const watches = (each: number) => [perTenant, perAddress, total].map((limit) => Math.floor(limit / each));
      expect([watches(perConnection), watches(perStream)]).toEqual([http1, http2]);
    },
  );
});
