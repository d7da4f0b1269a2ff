import { describe, expect, it } from '@jest/globals';
import type { ApiObject } from '../../src/api/resources.ts';
import { OwnWrite } from '../../src/tokens/own-write.ts';

const HOUR = 3_600_000;
const version = (resourceVersion: string): ApiObject => ({ metadata: { name: 'ci', resourceVersion } });

describe('an own write', () => {
  it('F5: counts as long as the informer has what it replaced, however long its watch is silent', () => {
    const write = new OwnWrite();
    write.wrote(version('2'), version('1'), 0);
    write.wrote(version('3'), version('2'), 1_000);
    expect([version('1'), version('2')].map((informed) => write.latest(informed, HOUR))).toEqual([version('3'), version('3')]);
  });

  it('gives way to whatever else the informer has', () => {
    const write = new OwnWrite();
    write.wrote(version('2'), version('1'), 0);
    expect(write.latest(version('7'), 1)).toEqual(version('7'));
    expect(write.latest(version('1'), 2)).toEqual(version('1'));
  });

  it('gives way to a deletion', () => {
    const write = new OwnWrite();
    write.wrote(version('2'), version('1'), 0);
    expect(write.latest(undefined, 1)).toBeUndefined();
  });

  it('is kept no longer than until the watch tells of it, also where that is faster than the answer', () => {
    const write = new OwnWrite();
    write.wrote(version('2'), version('1'), 0);
    expect([write.saw(version('1')), write.saw(version('2')), write.latest(version('1'), 1)]).toEqual([false, true, version('1')]);
    write.saw(version('3'));
    write.wrote(version('3'), version('2'), 2);
    expect(write.latest(version('2'), 3)).toEqual(version('2'));
  });

  it('counts for 30 s where it has created the object: it may be gone before the informer hears of it', () => {
    const write = new OwnWrite();
    write.wrote(version('1'), undefined, 0);
    expect(write.latest(undefined, 29_999)).toEqual(version('1'));
    expect(write.latest(undefined, 30_000)).toBeUndefined();
  });
});
