// Validation of Leases, Events, Secrets and ConfigMaps.

import { describe, expect, it } from '@jest/globals';
import { CONFIG_MAPS, configMap, NAMESPACE, prepareWorld } from './objects.ts';
import { outcome } from './requests.ts';
import { contractServer } from './server.ts';

const objects = prepareWorld(contractServer());
const core = (plural: string) => `/api/v1/namespaces/${NAMESPACE}/${plural}`;
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
const IMMUTABLE = 'field is immutable when `immutable` is set';

describe('Lease', () => {
  const lease = (name: string, spec: object = {}, metadata: object = {}) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, ...metadata },
    spec,
  });

  it('accepts only the first of two updates with the same resourceVersion', async () => {
    const seen = await objects.create(LEASES, lease('leader', { holderIdentity: '', leaseDurationSeconds: 15 }));
    const take = (holderIdentity: string) =>
      objects.put(`${LEASES}/leader`, { ...seen, spec: { holderIdentity, leaseDurationSeconds: 15 } });
    expect((await take('a')).body['spec']).toEqual({ holderIdentity: 'a', leaseDurationSeconds: 15 });
    expect((await take('b')).body.reason).toBe('Conflict');
    expect((await objects.post(LEASES, lease('leader'))).body.reason).toBe('AlreadyExists');
  });

  it.each([
    ['2001-01-01T00:00:00.123456Z', '2001-01-01T00:00:00.123456Z'],
    ['2001-01-01T00:00:00.000000Z', '2001-01-01T00:00:00.000000Z'],
    ['2001-01-01T02:00:00.123456+02:00', '2001-01-01T00:00:00.123456Z'],
  ])('keeps the microseconds of renewTime %s', async (renewTime, expected) => {
    const { status, body } = await objects.post(`${LEASES}?dryRun=All`, lease('time', { renewTime }));
    expect([status, body['spec']]).toEqual([201, { renewTime: expected }]);
  });

  it.each(['2001-01-01T00:00:00Z', '2001-01-01T00:00:00.123Z', 'yesterday'])(
    'rejects renewTime %s, which is not a MicroTime',
    async (renewTime) => {
      expect(outcome(await objects.post(LEASES, lease('time', { renewTime })))).toContain(
        `400 BadRequest: Lease in version "v1" cannot be handled as a Lease: parsing time "${renewTime}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse `,
      );
    },
  );

  it.each([
    [{ leaseDurationSeconds: 0 }, 'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0'],
    [{ leaseTransitions: -1 }, 'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0'],
  ])('rejects a Lease with the spec %j', async (spec, error) => {
    const response = await objects.post(LEASES, lease('checked', spec));
    expect(outcome(response)).toBe(`422 Invalid: Lease.coordination.k8s.io "checked" is invalid: ${error}`);
  });
});

describe('Event', () => {
  const event = (name: string, rest: object = {}) => ({
    metadata: { name },
    involvedObject: { kind: 'Pod', namespace: NAMESPACE, name: 'p' },
    ...rest,
  });
  it('rejects an Event outside the namespace of the involved object, or outside default for a cluster-scoped one', async () => {
    const eventFor = (involvedObject: object) => event('place', { involvedObject });
    const mismatch = (namespace: string) =>
      `422 Invalid: Event "place" is invalid: involvedObject.namespace: Invalid value: "${namespace}": does not match event.namespace`;
    expect(outcome(await objects.post(core('events'), eventFor({ namespace: 'other' })))).toBe(mismatch('other'));
    expect(outcome(await objects.post(core('events'), eventFor({ kind: 'Node' })))).toBe(mismatch(''));
    expect((await objects.post('/api/v1/namespaces/default/events', eventFor({ kind: 'Node' }))).status).toBe(201);
  });
});

describe('Secret', () => {
  const SECRETS = core('secrets');
  const secret = (name: string, rest: object = {}) => ({ metadata: { name }, ...rest });

  it('has the type Opaque by default, and converts stringData to data', async () => {
    const body = await objects.create(SECRETS, secret('text', { data: { a: 'YQ==', b: 'Yg==' }, stringData: { b: 'ä', c: 'c' } }));
    expect([body['type'], body['data'], body['stringData']]).toEqual(['Opaque', { a: 'YQ==', b: 'w6Q=', c: 'Yw==' }, undefined]);
  });

  it.each([
    [
      { data: { 'bad key': '' } },
      /data\[bad key\]: Invalid value: "bad key": a valid config key must consist of alphanumeric characters, '-', '_' or '\.'/,
    ],
    [
      { type: 'kubernetes.io/tls' },
      /^422 Invalid: Secret "checked" is invalid: \[data\[tls\.crt\]: Required value, data\[tls\.key\]: Required value\]$/,
    ],
    [{ type: 'kubernetes.io/service-account-token' }, /metadata\.annotations\[kubernetes\.io\/service-account\.name\]: Required value$/],
    [
      { data: { a: Buffer.alloc(1024 * 1024 + 1).toString('base64') } },
      /^422 Invalid: Secret "checked" is invalid: data: Too long: may not be more than 1048576 bytes$/,
    ],
    [{ data: { a: '?' } }, /^400 BadRequest: Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0$/],
  ])('rejects a Secret with invalid content (%#)', async (rest, expected) => {
    expect(outcome(await objects.post(SECRETS, secret('checked', rest)))).toMatch(expected);
  });

  it('rejects a change to the type', async () => {
    await objects.create(SECRETS, secret('typed'));
    expect(outcome(await objects.merge(`${SECRETS}/typed`, { type: 'other' }))).toBe(
      '422 Invalid: Secret "typed" is invalid: type: Invalid value: "other": field is immutable',
    );
  });

  it('rejects changes to an immutable Secret', async () => {
    await objects.create(SECRETS, secret('frozen', { immutable: true, data: { a: 'YQ==' } }));
    const change = async (patch: object) => outcome(await objects.merge(`${SECRETS}/frozen`, patch));
    expect(await change({ data: { a: 'Yg==' } })).toBe(`422 Invalid: Secret "frozen" is invalid: data: Forbidden: ${IMMUTABLE}`);
    expect(await change({ immutable: null })).toBe(`422 Invalid: Secret "frozen" is invalid: immutable: Forbidden: ${IMMUTABLE}`);
    expect(await change({ metadata: { labels: { a: 'b' } } })).toBe('200');
  });
});

describe('ConfigMap', () => {
  it.each([
    [{ data: { a: '1' }, binaryData: { a: 'YQ==' } }, 'data[a]: Invalid value: "a": duplicate of key present in binaryData'],
    [{ data: { '..': '' } }, /data\[\.\.\]: Invalid value: "\.\.": must not be '\.\.'/],
    [{ data: { a: 'x'.repeat(1024 * 1024 + 1) } }, '[]: Too long: may not be more than 1048576 bytes'],
  ])('rejects a ConfigMap with invalid content (%#)', async (rest, expected) => {
    const text = outcome(await objects.post(CONFIG_MAPS, configMap('checked', rest)));
    if (typeof expected === 'string') expect(text).toBe(`422 Invalid: ConfigMap "checked" is invalid: ${expected}`);
    else expect(text).toMatch(expected);
  });

  it('rejects changes to an immutable ConfigMap', async () => {
    await objects.create(CONFIG_MAPS, configMap('frozen', { immutable: true, data: { a: '1' } }));
    const change = async (patch: object) => outcome(await objects.merge(`${CONFIG_MAPS}/frozen`, patch));
    expect(await change({ data: { a: '2' } })).toBe(`422 Invalid: ConfigMap "frozen" is invalid: data: Forbidden: ${IMMUTABLE}`);
    expect(await change({ binaryData: { b: 'YQ==' } })).toBe(
      `422 Invalid: ConfigMap "frozen" is invalid: binaryData: Forbidden: ${IMMUTABLE}`,
    );
    expect(await change({ metadata: { annotations: { a: 'b' } } })).toBe('200');
  });
});
