import { describe, expect, it } from '@jest/globals';
import type { ApiObject } from '../../src/api/resources.ts';
import { OwnWrite } from '../../src/kube/own-write.ts';

const HOUR = 3_600_000;
const version = (resourceVersion: string): ApiObject => ({ metadata: { name: 'ci', resourceVersion } });

describe('OwnWrite', () => {
  it('returns the write while the informer has an older version, even if its watch stays silent', () => {
    const write = new OwnWrite();
    write.record(version('2'), version('1'), 0);
    write.record(version('3'), version('2'), 1_000);
    expect([version('1'), version('2')].map((informed) => write.resolve(informed, HOUR))).toEqual([version('3'), version('3')]);
  });

  it('returns the object of the informer for any other version', () => {
    const write = new OwnWrite();
    write.record(version('2'), version('1'), 0);
    expect(write.resolve(version('7'), 1)).toEqual(version('7'));
    expect(write.resolve(version('1'), 2)).toEqual(version('1'));
  });

  it('returns undefined after the object is deleted', () => {
    const write = new OwnWrite();
    write.record(version('2'), version('1'), 0);
    expect(write.resolve(undefined, 1)).toBeUndefined();
  });

  it('forgets the write once the watch delivers it, even before the response', () => {
    const write = new OwnWrite();
    write.record(version('2'), version('1'), 0);
    expect([write.acknowledge(version('1')), write.acknowledge(version('2')), write.resolve(version('1'), 1)]).toEqual([
      false,
      true,
      version('1'),
    ]);
    write.acknowledge(version('3'));
    write.record(version('3'), version('2'), 2);
    expect(write.resolve(version('2'), 3)).toEqual(version('2'));
  });

  it('returns a created object for 30 s, because it may be deleted before the informer delivers it', () => {
    const write = new OwnWrite();
    write.record(version('1'), undefined, 0);
    expect(write.resolve(undefined, 29_999)).toEqual(version('1'));
    expect(write.resolve(undefined, 30_000)).toBeUndefined();
  });
});
