import { describe, expect, it } from '@jest/globals';
import { toBins, toLane, toPosition, toScale, toTicks, ZOOM_NAMES, ZOOMS, zoomBy } from '../../../src/ui/model/timeline.ts';
import { aToken, condition, DAY, HOUR, MINUTE, NOW } from './tokens.ts';

describe('toScale', () => {
  it.each(ZOOM_NAMES)('places the current time at a fifth of the span %s', (zoom) => {
    const scale = toScale(zoom, NOW);
    expect(scale.to - scale.from).toBe(ZOOMS[zoom]);
    expect(toPosition(NOW, scale)).toBeCloseTo(0.2);
  });

  it('offers spans from one hour to one year', () => {
    expect(Math.min(...Object.values(ZOOMS))).toBe(HOUR);
    expect(Math.max(...Object.values(ZOOMS))).toBe(365 * DAY);
  });
});

describe('zoomBy', () => {
  it('selects the next span, and keeps the shortest and the longest', () => {
    expect(zoomBy('1h', 1)).toBe('6h');
    expect(zoomBy('1h', -1)).toBe('1h');
    expect(zoomBy('1y', 1)).toBe('1y');
  });
});

describe('toLane', () => {
  const scale = toScale('1h', NOW);

  it('returns elapsed, valid and reserve time of a valid token', () => {
    const lane = toLane(aToken(), scale);
    expect(lane.bars.map(({ kind }) => kind)).toEqual(['elapsed', 'valid', 'reserve']);
    expect(lane.bars[0]?.left).toBe(0);
    expect(lane.bars[0]?.right).toBeCloseTo(0.2);
    expect(lane.renewal).toBeCloseTo(0.2 + 27 / 60);
    expect(lane.expiry).toBeCloseTo(0.2 + 40 / 60);
  });

  it('clips a long lifetime to the scale', () => {
    const lane = toLane(aToken({ issuedAt: NOW - DAY, renewsAt: NOW + DAY, expiresAt: NOW + 2 * DAY }), scale);
    expect(lane.bars).toEqual([
      { kind: 'elapsed', left: 0, right: expect.closeTo(0.2) as unknown },
      { kind: 'valid', left: expect.closeTo(0.2) as unknown, right: 1 },
    ]);
    expect(lane).toMatchObject({ renewal: undefined, expiry: undefined, beyond: undefined });
  });

  it('shows the time since an expiry', () => {
    expect(toLane(aToken({ expiresAt: NOW - 6 * MINUTE }), scale).bars.at(-1)).toMatchObject({
      kind: 'expired',
      right: expect.closeTo(0.2) as unknown,
    });
  });

  it('returns no bars for a ManagedToken without a token', () => {
    expect(toLane(aToken({ expiresAt: undefined }), scale)).toEqual({ bars: [], renewal: undefined, expiry: undefined, beyond: undefined });
  });

  it('returns bars within the scale for any times', () => {
    const times = [undefined, -1e15, 0, NOW - DAY, NOW, NOW + MINUTE, NOW + 400 * DAY, 8e15];
    const all = times.flatMap((issuedAt) => times.flatMap((renewsAt) => times.map((expiresAt) => ({ issuedAt, renewsAt, expiresAt }))));
    const bars = all.flatMap((each) => toLane(aToken(each), scale).bars);
    expect(bars.length).toBeGreaterThan(100);
    expect(bars.filter(({ left, right }) => !(left >= 0 && right > left && right <= 1))).toEqual([]);
  });
});

describe('toTicks', () => {
  it.each(ZOOM_NAMES)('returns 3 to 13 ticks in order for the span %s', (zoom) => {
    const positions = toTicks(toScale(zoom, NOW), 12).map(({ position }) => position);
    expect(positions.length).toBeGreaterThanOrEqual(3);
    expect(positions.length).toBeLessThanOrEqual(13);
    expect(positions.every((position, index) => position >= 0 && position <= 1 && position > (positions[index - 1] ?? -1))).toBe(true);
  });

  it('labels hours, and days at midnight of the time zone', () => {
    const labels = toTicks(toScale('1d', NOW), 9).map(({ label }) => label);
    expect(labels).toEqual(['09:00', '12:00', '15:00', '18:00', '21:00', '18 Nov', '03:00', '06:00']);
    expect(toTicks(toScale('1d', NOW), 9, 2 * HOUR).find(({ isMajor }) => isMajor)?.position).toBeCloseTo(0.2 + 10 / 24);
  });

  it('labels months, and the year in January', () => {
    expect(toTicks(toScale('1y', NOW), 12).map(({ label }) => label)).toContain('2027');
  });
});

describe('toBins', () => {
  it('counts renewals, and expiries of tokens that are not renewed', () => {
    const tokens = [
      aToken({ renewsAt: NOW - MINUTE }),
      aToken({ renewsAt: NOW + 90 * MINUTE }),
      aToken({ rotationFailing: condition('RotationFailing', 'True', 'ClusterTimeout'), expiresAt: NOW + HOUR }),
      aToken({ isSuspended: true, renewsAt: undefined, expiresAt: NOW + 3 * HOUR }),
      aToken({ renewsAt: NOW + 3 * DAY, expiresAt: NOW + 4 * DAY }),
      aToken({ renewsAt: undefined, expiresAt: NOW - MINUTE }),
    ];
    expect(toBins(tokens, NOW, 4 * HOUR, 4)).toEqual([
      { from: NOW, renewals: 1, expiries: 0 },
      { from: NOW + HOUR, renewals: 1, expiries: 1 },
      { from: NOW + 2 * HOUR, renewals: 0, expiries: 0 },
      { from: NOW + 3 * HOUR, renewals: 0, expiries: 1 },
    ]);
  });
});
