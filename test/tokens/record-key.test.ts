import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Secret } from '../../src/api/resources.ts';
import { statusError } from '../../src/kubernetes/status.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { loadRecordKey, RecordKey, type RecordKeyOptions } from '../../src/tokens/record-key.ts';
import { aToken } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';

const KEY = Buffer.alloc(32, 7);
const DIGEST = 'sha256:issued';
const token = aToken().build();

describe('RecordKey', () => {
  const key = new RecordKey(KEY);
  const { signature } = key.sign(token, DIGEST);

  it('verifies a digest that the same key signed for the same ManagedToken', () => {
    const signed = aToken().withStatus({ tokenDigest: DIGEST, tokenSignature: signature }).build();
    expect(key.verify(signed)).toEqual({ digest: DIGEST, signature });
    expect(new RecordKey(KEY).verify(signed)).toEqual({ digest: DIGEST, signature });
  });

  it.each([
    ['no status', aToken()],
    ['no signature', aToken().withStatus({ tokenDigest: DIGEST })],
    ['another digest', aToken().withStatus({ tokenDigest: 'sha256:other', tokenSignature: signature })],
    ['a short signature', aToken().withStatus({ tokenDigest: DIGEST, tokenSignature: 'hmac-sha256:' })],
    [
      'the signature of another ManagedToken',
      aToken().withMetadata({ uid: 'other' }).withStatus({ tokenDigest: DIGEST, tokenSignature: signature }),
    ],
  ])('does not verify a ManagedToken with %s', (_, forged) => {
    expect(key.verify(forged.build())).toBeUndefined();
  });

  it('does not verify a digest that another key signed', () => {
    const { signature: foreign } = new RecordKey(Buffer.alloc(32)).sign(token, DIGEST);
    expect(key.verify(aToken().withStatus({ tokenDigest: DIGEST, tokenSignature: foreign }).build())).toBeUndefined();
  });
});

describe('loadRecordKey', () => {
  let stored: Secret | undefined;
  let requests: string[];
  let failures: readonly Error[];
  let lines: string[];
  let clock: FakeClock;

  beforeEach(() => {
    stored = undefined;
    requests = [];
    failures = [];
    lines = [];
    clock = new FakeClock();
  });

  /** Serves one request; the next failure, if there is one, is its response. */
  async function respond<T>(request: string, response: () => T): Promise<T> {
    requests.push(request);
    const [failure, ...rest] = failures;
    failures = rest;
    if (failure !== undefined) throw failure;
    return response();
  }

  const hub = {
    list: (_: unknown, { namespace, fieldSelector }: { readonly namespace: string; readonly fieldSelector: string }) =>
      respond(`list ${namespace} ${fieldSelector}`, () => ({ items: stored === undefined ? [] : [stored] })),
    create: (_: unknown, secret: Secret) => respond('create', () => (stored = secret)),
    update: (_: unknown, secret: Secret) => respond('update', () => (stored = secret)),
  } as unknown as RecordKeyOptions['hub'];

  async function load(client = hub): Promise<RecordKey> {
    const log = createLogger({ level: 'trace', readable: false, write: (line) => lines.push(line) });
    const { signal } = new AbortController();
    const loading = loadRecordKey({ hub: client, namespace: 'purser-system', clock, random: () => 0, log, signal });
    const loaded: RecordKey[] = [];
    void loading.then((key) => loaded.push(key));
    while (loaded.length === 0) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(50);
    }
    return await loading;
  }

  const LIST = 'list purser-system metadata.name=purser-record-key';
  const signatureOf = (key: RecordKey) => key.sign(token, DIGEST).signature;
  const keyText = () => stored?.data?.['key'] ?? '';
  const store = (data: Record<string, string>) => {
    stored = { metadata: { namespace: 'purser-system', name: 'purser-record-key', resourceVersion: '7' }, data };
  };

  it('reads an existing key with one request', async () => {
    store({ key: KEY.toString('base64') });
    expect(signatureOf(await load())).toBe(signatureOf(new RecordKey(KEY)));
    expect([requests, lines]).toEqual([[LIST], []]);
  });

  it('creates a key of 32 bytes if the Secret does not exist, and logs no part of the key', async () => {
    const key = await load();
    expect(stored).toMatchObject({ metadata: { namespace: 'purser-system', name: 'purser-record-key' }, type: 'Opaque' });
    expect(Buffer.from(keyText(), 'base64')).toHaveLength(32);
    expect(signatureOf(await load())).toBe(signatureOf(key));
    expect(requests).toEqual([LIST, 'create', LIST]);
    expect(lines.join()).toContain('record key created');
    expect(lines.join()).not.toContain(keyText().slice(0, 8));
  });

  it('reads the key that another replica created first', async () => {
    const create = () =>
      respond('create', () => {
        store({ key: KEY.toString('base64') });
        throw statusError('AlreadyExists', 'created by another replica');
      });
    expect(signatureOf(await load({ ...hub, create }))).toBe(signatureOf(new RecordKey(KEY)));
    expect(requests).toEqual([LIST, 'create', LIST]);
  });

  it.each([
    ['no key', {}],
    ['a short key', { key: 'c2hvcnQ=' }],
  ])('replaces a Secret with %s', async (_, data) => {
    store(data);
    await load();
    expect([requests, stored?.metadata.resourceVersion]).toEqual([[LIST, 'update'], '7']);
    expect(Buffer.from(keyText(), 'base64')).toHaveLength(32);
  });

  it('retries failed requests, and logs the errors', async () => {
    failures = [statusError('Forbidden', 'no permission'), statusError('InternalError', 'unavailable')];
    await load();
    expect(requests).toEqual([LIST, LIST, LIST, 'create']);
    expect(lines.filter((line) => line.includes('record key not loaded'))).toHaveLength(2);
  });
});
