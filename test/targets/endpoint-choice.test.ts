import { describe, expect, it } from '@jest/globals';
import { EndpointChoice } from '../../src/targets/endpoint-choice.ts';

describe('EndpointChoice', () => {
  const MINUTE = 60_000;

  it('keeps the address that works, and returns to the preferred one after five minutes', () => {
    const choice = new EndpointChoice(['a', 'b', 'c']);
    expect(choice.order(0)).toEqual(['a', 'b', 'c']);
    choice.recordFailure('a', 0);
    choice.recordSuccess('b');
    expect(choice.order(MINUTE)).toEqual(['b', 'a', 'c']);
    choice.recordSuccess('b');
    expect(choice.order(5 * MINUTE)).toEqual(['a', 'b', 'c']);
  });

  it('prefers the working address for five minutes after the preferred one fails again', () => {
    const choice = new EndpointChoice(['a', 'b']);
    choice.recordFailure('a', 0);
    choice.recordFailure('a', 5 * MINUTE);
    choice.recordSuccess('b');
    expect(choice.order(6 * MINUTE)).toEqual(['b', 'a']);
    expect(choice.order(10 * MINUTE)).toEqual(['a', 'b']);
    choice.recordSuccess('a');
    expect(choice.order(11 * MINUTE)).toEqual(['a', 'b']);
  });

  it('switches back to the working address if the preferred one still fails', () => {
    const choice = new EndpointChoice(['a', 'b', 'c']);
    choice.recordFailure('a', 0);
    choice.recordFailure('b', 0);
    choice.recordSuccess('c');
    expect(choice.order(5 * MINUTE)).toEqual(['a', 'c', 'b']);
    choice.recordFailure('a', 5 * MINUTE);
    expect(choice.order(5 * MINUTE)).toEqual(['c', 'a', 'b']);
  });

  it('starts over with the first address after all addresses have failed', () => {
    const choice = new EndpointChoice(['a', 'b']);
    choice.recordFailure('a', 0);
    choice.recordFailure('b', 0);
    expect(choice.order(0)).toEqual(['a', 'b']);
    const single = new EndpointChoice(['a']);
    single.recordFailure('a', 0);
    expect(single.order(0)).toEqual(['a']);
  });
});
