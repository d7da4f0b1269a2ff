import { describe, expect, it } from '@jest/globals';
import { ownFaults, parseFault } from './custom-fault.ts';
import type { FaultProxy } from './proxy/fault-proxy.ts';
import type { Action, Matcher } from './proxy/rules.ts';

interface Done {
  readonly how: string;
  readonly what: unknown;
  readonly match?: Matcher;
}

/** Applies a fault to a fake proxy; returns the first call. */
function done(text: string): Done | undefined {
  const found: Done[] = [];
  const proxy = {
    tcp: (what: unknown) => found.push({ how: 'tcp', what }),
    line: (what: unknown) => found.push({ how: 'line', what }),
    rule: (match: Matcher, what: Action) => found.push({ how: 'rule', what, match }),
  };
  parseFault(text).begin(proxy as unknown as FaultProxy);
  return found[0];
}

describe('parseFault', () => {
  it.each([
    ['hub freeze', 'tcp', 'freeze'],
    ['one  slow 1500', 'line', { delayMs: 1_500 }],
    ['two throttle 10000', 'line', { bytesPerSecond: 10_000 }],
    ['two cut 5000', 'line', { cutAfterBytes: 5_000 }],
    ['one lose tokens', 'rule', { type: 'lose' }],
    ['hub delay 4000', 'rule', { type: 'delay', ms: 4_000 }],
    ['hub truncate 30 watches', 'rule', { type: 'truncate', bytes: 30 }],
    ['hub answer 503 writes', 'rule', { type: 'answer', status: 503 }],
    ['one answer 429:30 tokens', 'rule', { type: 'answer', status: 429, headers: { 'retry-after': '30' } }],
  ])('parses "%s"', (text, how, what) => {
    expect(done(text)).toMatchObject({ how, what });
  });

  it('matches all requests, requests of a kind, or requests of a path', () => {
    const read = { server: 'hub', method: 'GET', path: '/apis/tokens.purser.dev/v1alpha1/managedtokens?watch=1' };
    const matches = ['hub drop', 'hub drop watches', 'hub drop writes', 'hub drop /managedtokens', 'hub drop /secrets'].map((text) =>
      done(text)?.match?.(read),
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

describe('ownFaults', () => {
  it('affects one cluster, or Purser if faults are on several clusters', () => {
    const on = (...texts: readonly string[]) => ownFaults(texts.map(parseFault), 1).on;
    expect([on('one freeze'), on('one freeze', 'one drop'), on('one freeze', 'hub drop')]).toEqual(['one', 'one', 'purser']);
  });
});
