import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { toServiceAccountUser } from '../../../src/access/user.ts';
import { Visibility } from '../../../src/access/visibility.ts';
import { CallerVersions, formatFacadeVersion, formatFacadeVersionAt, parseFacadeVersion } from '../../../src/facade/listwatch/version.ts';

const BOT = toServiceAccountUser('ci', 'bot');
const NOTHING = Visibility.nothing;
const ALL = Visibility.everything;

const revision = fc.integer({ min: 1, max: 2 ** 36 });
const version = fc.record({ revision, sequence: fc.integer({ min: 0, max: 99 }), fingerprint: fc.integer({ min: 0, max: 999_999 }) });
const view = fc
  .subarray(['a', 'b', 'c', 'd'])
  .map((names) => new Visibility(new Set(names)))
  .chain((some) => fc.constantFrom(some, ALL));

describe('formatFacadeVersion', () => {
  it('returns the digits of the revision, the sequence and the fingerprint', () => {
    expect(formatFacadeVersion({ revision: 288, sequence: 7, fingerprint: 4_321 })).toBe('28807004321');
    expect(formatFacadeVersionAt(288, ALL)).toBe('28800000001');
  });

  it('returns a version that parseFacadeVersion parses to the same parts', () => {
    fc.assert(fc.property(version, (parts) => expect(parseFacadeVersion(BigInt(formatFacadeVersion(parts)))).toEqual(parts)));
  });

  it('returns versions that grow with the revision and fit into a signed 64-bit integer', () => {
    fc.assert(
      fc.property(version, version, (one, other) => {
        const next = { ...other, revision: one.revision + 1 };
        expect(BigInt(formatFacadeVersion(next))).toBeGreaterThan(BigInt(formatFacadeVersion(one)));
        expect(BigInt(formatFacadeVersion(one))).toBeLessThan(2n ** 63n);
      }),
    );
  });
});

describe('CallerVersions', () => {
  const step = fc.record({ advance: fc.integer({ min: 0, max: 1 }), view });

  it("returns versions that never decrease, regardless of how a caller's view changes", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const versions = new CallerVersions();
        let [latest, at] = [0n, 5];
        for (const { advance, view: seen } of steps) {
          at += advance;
          const next = BigInt(formatFacadeVersion(versions.next(BOT, seen, at)));
          expect(next).toBeGreaterThanOrEqual(latest);
          latest = next;
        }
      }),
    );
  });

  it('returns versions that never decrease for a caller who sends the last version to another replica', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fc.integer({ min: 0, max: 1 })), { maxLength: 60 }), (steps) => {
        const replicas = [new CallerVersions(), new CallerVersions()] as const;
        let [latest, at] = [0n, 5];
        for (const [{ advance, view: seen }, replica] of steps) {
          at += advance;
          const next = BigInt(formatFacadeVersion(replicas[replica as 0 | 1].next(BOT, seen, at, parseFacadeVersion(latest))));
          expect(next).toBeGreaterThanOrEqual(latest);
          latest = next;
        }
      }),
    );
  });

  it('returns a greater sequence number for a changed view than events of the log have at the same revision', () => {
    const versions = new CallerVersions();
    const [before, after] = [new Visibility(new Set(['a'])), new Visibility(new Set(['b']))];
    versions.next(BOT, before, 5);
    const { sequence } = versions.next(BOT, after, 8);
    expect({ sequence, later: versions.next(BOT, before, 8).sequence }).toEqual({ sequence: 1, later: 2 });
  });

  it('returns the same version for an empty view while hidden objects change', () => {
    const versions = new CallerVersions();
    expect(versions.next(BOT, NOTHING, 5)).toEqual(versions.next(BOT, NOTHING, 9));
    versions.next(BOT, ALL, 12);
    const emptied = versions.next(BOT, NOTHING, 13);
    expect(emptied.revision).toBe(13);
    expect(versions.next(BOT, NOTHING, 20)).toEqual(emptied);
    const sent = { revision: 15, sequence: 0, fingerprint: ALL.fingerprint };
    expect(versions.next(BOT, NOTHING, 20, sent).revision).toBe(15);
  });
});
