import { describe, expect, it } from '@jest/globals';
import { formatHumanDuration } from '../../../src/kubernetes/wire/go-duration.ts';
import { parseMicroTime, parseTime } from '../../../src/kubernetes/wire/go-time.ts';

describe('parseTime', () => {
  it.each([
    ['2026-11-15T00:00:00Z', '2026-11-15T00:00:00Z'],
    ['2026-11-15T00:30:00.999+01:00', '2026-11-14T23:30:00Z'],
    ['2024-02-29T5:00:00,5-23:59', '2024-03-01T04:59:00Z'],
    ['0099-01-01T00:00:00Z', '0099-01-01T00:00:00Z'],
    ['9999-12-31T23:59:59-01:00', '10000-01-01T00:59:59Z'],
    ['0001-01-01T00:00:00Z', undefined],
  ])('parses %s', (text, time) => {
    expect(parseTime(text)).toBe(time);
  });

  it.each([
    ['', 'parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'],
    ['2026', 'parsing time "2026" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "-"'],
    ['2026-1-1T00:00:00Z', 'parsing time "2026-1-1T00:00:00Z" as "2006-01-02T15:04:05Z07:00": cannot parse "1-1T00:00:00Z" as "01"'],
    ['2026-13-01T00:00:00Z', 'parsing time "2026-13-01T00:00:00Z": month out of range'],
    ['2026-02-29T00:00:00Z', 'parsing time "2026-02-29T00:00:00Z": day out of range'],
    ['2026-11-15T24:00:00Z', 'parsing time "2026-11-15T24:00:00Z": hour out of range'],
    ['2026-11-15T00:00:00', 'parsing time "2026-11-15T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"'],
    ['2026-11-15T00:00:00Zx', 'parsing time "2026-11-15T00:00:00Zx": extra text: "x"'],
    ['2026-11-15T00:00:00+25:00', 'parsing time "2026-11-15T00:00:00+25:00": time zone offset hour out of range'],
  ])("rejects %j with Go's message", (text, message) => {
    expect(() => parseTime(text)).toThrow(new Error(message));
  });
});

describe('parseMicroTime', () => {
  it('rejects a time without exactly six digits after the decimal point', () => {
    expect(parseMicroTime('2026-11-15T00:00:00.123456+01:00')).toBe('2026-11-14T23:00:00.123456Z');
    expect(() => parseMicroTime('2026-11-15T00:00:00.000Z')).toThrow(
      'parsing time "2026-11-15T00:00:00.000Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse ".000Z" as ".000000"',
    );
  });
});

describe('formatHumanDuration', () => {
  const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];

  it.each([
    [-2 * second, '<invalid>'],
    [-second, '0s'],
    [0, '0s'],
    [119.9 * second, '119s'],
    [2 * minute, '2m'],
    [5 * minute + 30 * second, '5m30s'],
    [10 * minute + 30 * second, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 59 * minute, '7h59m'],
    [8 * hour + 59 * minute, '8h'],
    [47 * hour, '47h'],
    [2 * day, '2d'],
    [3 * day + 4 * hour, '3d4h'],
    [8 * day + 4 * hour, '8d'],
    [729 * day, '729d'],
    [730 * day, '2y'],
    [800 * day, '2y70d'],
    [8 * 365 * day, '8y'],
  ])('formats %d ms as %s', (durationMs, text) => {
    expect(formatHumanDuration(durationMs)).toBe(text);
  });
});
