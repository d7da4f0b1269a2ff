import { describe, expect, it } from '@jest/globals';
import { customFaults, parseFault } from './custom-fault.ts';
import type { FaultProxy } from './proxy/fault-proxy.ts';
import type { Action, Matcher } from './proxy/rules.ts';

interface Call {
  readonly method: string;
  readonly argument: unknown;
  readonly match?: Matcher;
}

/** Applies a fault to a fake proxy; returns the first call. */
function firstCall(text: string): Call | undefined {
  const calls: Call[] = [];
  const proxy = {
    setTcpMode: (argument: unknown) => calls.push({ method: 'setTcpMode', argument }),
    shapeTraffic: (argument: unknown) => calls.push({ method: 'shapeTraffic', argument }),
    addRule: (match: Matcher, argument: Action) => calls.push({ method: 'addRule', argument, match }),
  };
  parseFault(text).begin(proxy as unknown as FaultProxy);
  return calls[0];
}

describe('parseFault', () => {
  it.each([
    ['hub freeze', 'setTcpMode', 'freeze'],
    ['one  slow 1500', 'shapeTraffic', { delayMs: 1_500 }],
    ['two throttle 10000', 'shapeTraffic', { bytesPerSecond: 10_000 }],
    ['two cut 5000', 'shapeTraffic', { cutAfterBytes: 5_000 }],
    ['one lose tokens', 'addRule', { type: 'lose' }],
    ['hub delay 4000', 'addRule', { type: 'delay', ms: 4_000 }],
    ['hub truncate 30 watches', 'addRule', { type: 'truncate', bytes: 30 }],
    ['hub respond 503 writes', 'addRule', { type: 'respond', status: 503 }],
    ['one respond 429:30 tokens', 'addRule', { type: 'respond', status: 429, headers: { 'retry-after': '30' } }],
  ])('parses "%s"', (text, method, argument) => {
    expect(firstCall(text)).toMatchObject({ method, argument });
  });

  it('matches all requests, requests of a kind, or requests of a path', () => {
    const read = { server: 'hub', method: 'GET', path: '/apis/tokens.purser.dev/v1alpha1/managedtokens?watch=1' };
    const matches = ['hub drop', 'hub drop watches', 'hub drop writes', 'hub drop /managedtokens', 'hub drop /secrets'].map((text) =>
      firstCall(text)?.match?.(read),
    );
    expect(matches).toEqual([true, true, false, true, false]);
  });

  it.each([
    '',
    'hub',
    'three freeze',
    'hub melt',
    'hub slow',
    'hub slow soon',
    'hub freeze tokens',
    'hub drop namespaces',
    'hub drop tokens 3',
  ])('rejects "%s" with the grammar of faults', (text) => {
    expect(() => parseFault(text)).toThrow(/WHERE WHAT \[WHICH\]/);
  });
});

describe('customFaults', () => {
  it('names the affected cluster, or Purser for faults on several clusters', () => {
    const on = (...texts: readonly string[]) => customFaults(texts.map(parseFault), 1).on;
    expect([on('one freeze'), on('one freeze', 'one drop'), on('one freeze', 'hub drop')]).toEqual(['one', 'one', 'purser']);
  });
});
