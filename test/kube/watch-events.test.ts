import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type ConfigMap, ConfigMaps } from '../../src/api/resources.ts';
import { decodeWatch, type WatchEvent } from '../../src/kube/watch-events.ts';

async function* splitIntoChunks(bytes: Uint8Array, ends: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (const end of [...ends.toSorted((a, b) => a - b), bytes.length]) {
    yield bytes.subarray(start, end);
    start = end;
  }
}

async function decodeAll(chunks: AsyncIterable<Uint8Array>): Promise<readonly WatchEvent<ConfigMap>[]> {
  return Array.fromAsync(decodeWatch(ConfigMaps, chunks));
}

function createAddedEvent(name: string, value: string): WatchEvent<ConfigMap> {
  return { type: 'ADDED', object: { metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: '1' }, data: { value } } };
}

describe('decodeWatch', () => {
  it('decodes the same events no matter how the stream is split into chunks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 5 }), fc.array(fc.nat(400)), async (values, cuts) => {
        const events = values.map((value, index) => createAddedEvent(`n${index}`, value));
        const bytes = Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
        expect(
          await decodeAll(
            splitIntoChunks(
              bytes,
              cuts.map((cut) => Math.min(cut, bytes.length)),
            ),
          ),
        ).toEqual(events);
      }),
    );
  });

  it('decodes bookmarks, including the end of the initial events', async () => {
    const bookmark = (annotations?: object) =>
      `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '9', annotations } } })}\n`;
    const bytes = Buffer.from(bookmark() + bookmark({ 'k8s.io/initial-events-end': 'true' }));
    expect(await decodeAll(splitIntoChunks(bytes, []))).toEqual([
      { type: 'BOOKMARK', resourceVersion: '9', endsInitialEvents: false },
      { type: 'BOOKMARK', resourceVersion: '9', endsInitialEvents: true },
    ]);
  });

  it.each([
    ['a Status', { kind: 'Status', status: 'Failure', reason: 'Expired', message: 'too old', code: 410 }, 410],
    ['an object that is not a Status', { metadata: {} }, 500],
    ['no object', undefined, 500],
    ['a Status with an invalid code', { status: 'Failure', message: 'm', code: 'x' }, 500],
  ])('throws a StatusError for an ERROR event with %s', async (_, object, code) => {
    const bytes = Buffer.from(`${JSON.stringify({ type: 'ERROR', object })}\n`);
    await expect(decodeAll(splitIntoChunks(bytes, []))).rejects.toMatchObject({ name: 'StatusError', code });
  });

  it.each(['name', 'namespace', 'uid', 'resourceVersion'] as const)('rejects an object without %s', async (field) => {
    const metadata = { name: 'a', namespace: 'ns', uid: 'u', resourceVersion: '1', [field]: undefined };
    const bytes = Buffer.from(`${JSON.stringify({ type: 'ADDED', object: { metadata } })}\n`);
    await expect(decodeAll(splitIntoChunks(bytes, []))).rejects.toThrow('a watch event has no object with name, uid and resourceVersion');
  });

  it('rejects an event above the size limit', async () => {
    let sent = 0;
    const endless = async function* () {
      for (;;) {
        sent += 1;
        yield Buffer.alloc(1 << 20, 'x');
      }
    };
    await expect(decodeAll(endless())).rejects.toThrow('longer than');
    expect(sent).toBe(17);
  });
});
