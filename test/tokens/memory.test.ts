import { describe, expect, it } from '@jest/globals';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { TokenMemory } from '../../src/tokens/memory.ts';
import { aToken } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';

const HOUR = 3_600_000;

describe('a TokenMemory', () => {
  it('does not remember again what was forgotten, whatever a run under way notes', () => {
    const memory = new TokenMemory();
    memory.keep('a').refused(1_000);
    memory.forget('a');
    memory.of('a').refused(2_000);
    memory.of('a').allowed('prod-eu', 'default prod-eu/deploy/deployer', 0);

    expect([memory.size, memory.refused.size, memory.of('a').confirmed]).toEqual([0, 0, undefined]);
  });

  it('counts those that were refused, each once, until they are allowed, settled or forgotten', () => {
    const memory = new TokenMemory();
    const counts = [];
    for (const uid of ['a', 'b', 'c', 'a']) memory.keep(uid).refused(1_000);
    counts.push(memory.refused.size);
    memory.of('a').allowed('prod-eu', 'default prod-eu/deploy/deployer', 0);
    counts.push(memory.refused.size);
    memory.of('b').forgetRefusals();
    counts.push(memory.refused.size);
    memory.forget('c');
    counts.push(memory.refused.size);

    expect(counts).toEqual([3, 2, 1, 0]);
  });

  it('takes a refusal for the first one when those before are in the future (F28)', () => {
    const recollection = new TokenMemory().keep('a');
    recollection.refused(10 * HOUR);
    recollection.refused(9 * HOUR);
    recollection.refused(9 * HOUR + 15_000);

    expect(recollection.refusedAt).toEqual([9 * HOUR, 9 * HOUR + 15_000]);
  });
});

describe('what was written', () => {
  const written = (resourceVersion: string, status = {}) =>
    ({ metadata: { uid: 'a', resourceVersion, managedFields: [{ manager: 'purser' }] }, status }) as unknown as ManagedToken;

  it('is kept without what nobody reads', () => {
    const after = new TokenMemory().keep('a').wroteToken(written('2'), written('1'), 0);
    expect(after.metadata).toEqual({ uid: 'a', resourceVersion: '2' });
  });

  it('is kept as a stub if the informer keeps a stub of it', () => {
    const whole = aToken()
      .writing({ name: 'ci', annotations: { note: 'x' } })
      .build();
    const after = new TokenMemory().keep('a').wroteToken(whole, { ...whole, isOverBudget: true }, 0);
    expect(after).toMatchObject({ isOverBudget: true, spec: { secret: expect.not.objectContaining({ annotations: expect.anything() }) } });
  });

  it('is kept once: as the watch tells it, as soon as it does', () => {
    const recollection = new TokenMemory().keep('a');
    const informed = written('2', { rotations: 1 });
    recollection.status = { rotations: 1 };
    recollection.wroteToken(written('2', { rotations: 1 }), written('1'), 0);
    recollection.sawToken(informed);
    expect(recollection.status).toBe(informed.status);
    expect(recollection.token.latest(informed, 1)).toBe(informed);
  });
});

describe('pauses after a token that was not written', () => {
  it.each([
    ['back', -HOUR],
    ['ahead', HOUR],
  ])('are as long as they are when the clock is set %s (F28)', (_, jumpMs) => {
    const clock = new FakeClock();
    const recollection = new TokenMemory().keep('a');
    const { issuing } = recollection;
    recollection.issued(clock);
    clock.set(clock.now() + jumpMs);
    clock.advance(4_000);
    expect(issuing.leftMs(clock.monotonic())).toBe(6_000);
    clock.advance(6_000);
    expect(issuing.leftMs(clock.monotonic())).toBe(0);
  });

  it('confirms no permission by a review that began before RBAC changed', () => {
    const tracked = new TokenMemory().keep('a');
    const { doubts } = tracked;
    tracked.doubt();
    tracked.allowed('prod-eu', 'default prod-eu/deploy/deployer', doubts);
    expect(tracked.confirmed).toBeUndefined();
    tracked.allowed('prod-eu', 'default prod-eu/deploy/deployer', tracked.doubts);
    expect(tracked.confirmed).toBe('default prod-eu/deploy/deployer');
  });
});
