// Rules of single kinds: leases, events, secrets, config maps, service accounts and pods.

import { describe, expect, it } from '@jest/globals';
import { type Answer, CONFIG_MAPS, configMap, NAMESPACE, outcome, prepareWorld } from './objects.ts';
import { contractServer } from './server.ts';

const objects = prepareWorld(contractServer());
const core = (plural: string) => `/api/v1/namespaces/${NAMESPACE}/${plural}`;
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases`;
const EVENTS = `/apis/events.k8s.io/v1/namespaces/${NAMESPACE}/events`;
const QUALIFIED =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const IMMUTABLE = 'field is immutable when `immutable` is set';

describe('a Lease', () => {
  const lease = (name: string, spec: object = {}, metadata: object = {}) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, ...metadata },
    spec,
  });

  it('is taken by the first who writes on the version that both have seen', async () => {
    const seen = await objects.make(LEASES, lease('leader', { holderIdentity: '', leaseDurationSeconds: 15 }));
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
  ])('holds times in microseconds: %s', async (renewTime, expected) => {
    const { status, body } = await objects.post(`${LEASES}?dryRun=All`, lease('time', { renewTime }));
    expect([status, body['spec']]).toEqual([201, { renewTime: expected }]);
  });

  it.each(['2001-01-01T00:00:00Z', '2001-01-01T00:00:00.123Z', 'yesterday'])('refuses times of another form: %s', async (renewTime) => {
    expect(outcome(await objects.post(LEASES, lease('time', { renewTime })))).toContain(
      `400 BadRequest: Lease in version "v1" cannot be handled as a Lease: parsing time "${renewTime}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse `,
    );
  });

  it.each([
    [{ leaseDurationSeconds: 0 }, 'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0'],
    [{ leaseTransitions: -1 }, 'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0'],
  ])('is checked: %j', async (spec, error) => {
    const answer = await objects.post(LEASES, lease('checked', spec));
    expect(outcome(answer)).toBe(`422 Invalid: Lease.coordination.k8s.io "checked" is invalid: ${error}`);
  });

  it('knows nothing of coordinated elections', async () => {
    const { body } = await objects.post(
      `${LEASES}?dryRun=All`,
      lease('coordinated', { preferredHolder: 'x', strategy: 'OldestEmulationVersion' }),
    );
    expect(body['spec']).toEqual({});
  });
});

describe('an Event', () => {
  const event = (name: string, rest: object = {}) => ({
    metadata: { name },
    involvedObject: { kind: 'Pod', namespace: NAMESPACE, name: 'p' },
    ...rest,
  });
  const modern = (name: string, rest: object = {}) => ({
    metadata: { name },
    eventTime: '2001-01-01T00:00:00.000000Z',
    type: 'Normal',
    reason: 'Because',
    action: 'Act',
    reportingController: 'a.b/c',
    reportingInstance: 'i',
    regarding: { kind: 'Pod', namespace: NAMESPACE, name: 'p' },
    ...rest,
  });

  it('is the same in both of its APIs', async () => {
    const times = { firstTimestamp: '2001-01-01T00:00:00Z', lastTimestamp: '2001-01-01T00:00:01Z' };
    await objects.make(core('events'), event('old', { ...times, message: 'm', count: 3, source: { component: 'c' }, type: 'Normal' }));
    expect((await objects.get(`${EVENTS}/old`)).body).toMatchObject({
      apiVersion: 'events.k8s.io/v1',
      regarding: { kind: 'Pod', namespace: NAMESPACE, name: 'p' },
      note: 'm',
      deprecatedCount: 3,
      deprecatedSource: { component: 'c' },
      deprecatedFirstTimestamp: times.firstTimestamp,
      deprecatedLastTimestamp: times.lastTimestamp,
    });
    await objects.make(EVENTS, modern('new', { note: 'n' }));
    expect((await objects.get(`${core('events')}/new`)).body).toMatchObject({
      apiVersion: 'v1',
      involvedObject: { kind: 'Pod', namespace: NAMESPACE, name: 'p' },
      message: 'n',
      reportingComponent: 'a.b/c',
      reportingInstance: 'i',
      eventTime: '2001-01-01T00:00:00.000000Z',
      firstTimestamp: null,
    });
    expect((await objects.post(core('events'), event('new'))).body.reason).toBe('AlreadyExists');
    expect((await objects.delete(`${EVENTS}/new`)).status).toBe(200);
    expect((await objects.get(`${core('events')}/new`)).status).toBe(404);
  });

  it('lives in the namespace of what it is about, or else in default', async () => {
    const about = (involvedObject: object) => event('place', { involvedObject });
    const mismatch = (namespace: string) =>
      `422 Invalid: Event "place" is invalid: involvedObject.namespace: Invalid value: "${namespace}": does not match event.namespace`;
    expect(outcome(await objects.post(core('events'), about({ namespace: 'other' })))).toBe(mismatch('other'));
    expect(outcome(await objects.post(core('events'), about({ kind: 'Node' })))).toBe(mismatch(''));
    expect((await objects.post('/api/v1/namespaces/default/events', about({ kind: 'Node' }))).status).toBe(201);
  });

  it.each([
    [{ eventTime: undefined }, 'eventTime: Required value'],
    [{ type: 'Odd' }, 'type: Invalid value: "": has invalid value: Odd'],
    [{ reason: '' }, 'reason: Required value'],
    [{ action: '' }, 'action: Required value'],
    [{ reportingController: 'a b' }, `reportingController: Invalid value: "a b": ${QUALIFIED}`],
    [{ reportingInstance: '' }, 'reportingInstance: Required value'],
    [{ note: 'x'.repeat(1025) }, 'message: Invalid value: "": can have at most 1024 characters'],
    [{ series: { count: 1, lastObservedTime: '2001-01-01T00:00:00.000000Z' } }, 'series.count: Invalid value: "": should be at least 2'],
    [{ deprecatedCount: 3 }, 'count: Invalid value: "": needs to be unset'],
  ])('of the new kind is checked (%#)', async (rest, error) => {
    expect(outcome(await objects.post(EVENTS, modern('checked', rest)))).toBe(`422 Invalid: Event "checked" is invalid: ${error}`);
  });

  it('of the new kind only ever changes its series', async () => {
    await objects.make(EVENTS, modern('series'));
    const series = { count: 2, lastObservedTime: '2001-01-01T00:00:01.000000Z' };
    expect((await objects.merge(`${EVENTS}/series`, { series })).body['series']).toEqual(series);
    expect(outcome(await objects.merge(`${EVENTS}/series`, { reason: 'Other' }))).toBe(
      '422 Invalid: Event "series" is invalid: reason: Invalid value: "Other": field is immutable',
    );
  });
});

describe('a Secret', () => {
  const SECRETS = core('secrets');
  const secret = (name: string, rest: object = {}) => ({ metadata: { name }, ...rest });

  it('is Opaque, and takes text for bytes', async () => {
    const body = await objects.make(SECRETS, secret('text', { data: { a: 'YQ==', b: 'Yg==' }, stringData: { b: 'ä', c: 'c' } }));
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
    [{ type: 'kubernetes.io/dockerconfigjson' }, /^422 Invalid: Secret "checked" is invalid: data\[\.dockerconfigjson\]: Required value$/],
    [{ type: 'kubernetes.io/ssh-auth' }, /^422 Invalid: Secret "checked" is invalid: data\[ssh-privatekey\]: Required value$/],
    [{ type: 'kubernetes.io/service-account-token' }, /metadata\.annotations\[kubernetes\.io\/service-account\.name\]: Required value$/],
    [
      { data: { a: Buffer.alloc(1024 * 1024 + 1).toString('base64') } },
      /^422 Invalid: Secret "checked" is invalid: data: Too long: may not be more than 1048576 bytes$/,
    ],
    [{ data: { a: '?' } }, /^400 BadRequest: Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0$/],
  ])('is checked (%#)', async (rest, expected) => {
    expect(outcome(await objects.post(SECRETS, secret('checked', rest)))).toMatch(expected);
  });

  it('keeps its type', async () => {
    await objects.make(SECRETS, secret('typed'));
    expect(outcome(await objects.merge(`${SECRETS}/typed`, { type: 'other' }))).toBe(
      '422 Invalid: Secret "typed" is invalid: type: Invalid value: "other": field is immutable',
    );
  });

  it('may be frozen for good', async () => {
    await objects.make(SECRETS, secret('frozen', { immutable: true, data: { a: 'YQ==' } }));
    const change = async (patch: object) => outcome(await objects.merge(`${SECRETS}/frozen`, patch));
    expect(await change({ data: { a: 'Yg==' } })).toBe(`422 Invalid: Secret "frozen" is invalid: data: Forbidden: ${IMMUTABLE}`);
    expect(await change({ immutable: null })).toBe(`422 Invalid: Secret "frozen" is invalid: immutable: Forbidden: ${IMMUTABLE}`);
    expect(await change({ metadata: { labels: { a: 'b' } } })).toBe('200');
  });
});

describe('a ConfigMap', () => {
  it.each([
    [{ data: { a: '1' }, binaryData: { a: 'YQ==' } }, 'data[a]: Invalid value: "a": duplicate of key present in binaryData'],
    [{ data: { '..': '' } }, /data\[\.\.\]: Invalid value: "\.\.": must not be '\.\.'/],
    [{ data: { a: 'x'.repeat(1024 * 1024 + 1) } }, '[]: Too long: may not be more than 1048576 bytes'],
  ])('is checked (%#)', async (rest, expected) => {
    const text = outcome(await objects.post(CONFIG_MAPS, configMap('checked', rest)));
    if (typeof expected === 'string') expect(text).toBe(`422 Invalid: ConfigMap "checked" is invalid: ${expected}`);
    else expect(text).toMatch(expected);
  });

  it('may be frozen for good', async () => {
    await objects.make(CONFIG_MAPS, configMap('frozen', { immutable: true, data: { a: '1' } }));
    const change = async (patch: object) => outcome(await objects.merge(`${CONFIG_MAPS}/frozen`, patch));
    expect(await change({ data: { a: '2' } })).toBe(`422 Invalid: ConfigMap "frozen" is invalid: data: Forbidden: ${IMMUTABLE}`);
    expect(await change({ binaryData: { b: 'YQ==' } })).toBe(
      `422 Invalid: ConfigMap "frozen" is invalid: binaryData: Forbidden: ${IMMUTABLE}`,
    );
    expect(await change({ metadata: { annotations: { a: 'b' } } })).toBe('200');
  });
});

describe('a Pod', () => {
  const PODS = core('pods');
  const pod = (name: string, spec: object = {}) => ({ metadata: { name }, spec: { containers: [{ name: 'a', image: 'x' }], ...spec } });
  const create = (spec: object): Promise<Answer> => objects.post(`${PODS}?dryRun=All`, pod('checked', spec));

  it('gets its defaults', async () => {
    const body = await objects.make(PODS, pod('defaults', { serviceAccountName: 'robot' }));
    const toleration = (key: string) => ({
      key: `node.kubernetes.io/${key}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 300,
    });
    expect([body.metadata.generation, body['status'], body['spec']]).toEqual([
      1,
      { phase: 'Pending', qosClass: 'BestEffort' },
      {
        containers: [
          {
            name: 'a',
            image: 'x',
            imagePullPolicy: 'Always',
            resources: {},
            terminationMessagePath: '/dev/termination-log',
            terminationMessagePolicy: 'File',
          },
        ],
        dnsPolicy: 'ClusterFirst',
        enableServiceLinks: true,
        preemptionPolicy: 'PreemptLowerPriority',
        priority: 0,
        restartPolicy: 'Always',
        schedulerName: 'default-scheduler',
        securityContext: {},
        serviceAccount: 'robot',
        serviceAccountName: 'robot',
        terminationGracePeriodSeconds: 30,
        tolerations: [toleration('not-ready'), toleration('unreachable')],
      },
    ]);
  });

  it.each([
    [{ containers: [] }, 'spec.containers: Required value'],
    [{ containers: [{ name: 'a' }] }, 'spec.containers[0].image: Required value'],
    [
      { containers: [{ name: 'a', image: ' x' }] },
      'spec.containers[0].image: Invalid value: " x": must not have leading or trailing whitespace',
    ],
    [
      { restartPolicy: 'Sometimes' },
      'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
    ],
  ])('is checked: %j', async (spec, error) => {
    expect(outcome(await create(spec))).toBe(`422 Invalid: Pod "checked" is invalid: ${error}`);
  });

  it('changes its image and little else', async () => {
    await objects.make(PODS, pod('changed'));
    const { body } = await objects.strategic(`${PODS}/changed`, {
      spec: { containers: [{ name: 'a', image: 'y' }], activeDeadlineSeconds: 60 },
    });
    expect([body.metadata.generation, body['spec']]).toMatchObject([2, { containers: [{ image: 'y' }], activeDeadlineSeconds: 60 }]);
    expect(outcome(await objects.merge(`${PODS}/changed`, { spec: { nodeName: 'n' } }))).toMatch(
      /^422 Invalid: Pod "changed" is invalid: spec: Forbidden: pod updates may not change fields other than `spec\.containers\[\*\]\.image`,/,
    );
    expect(outcome(await objects.merge(`${PODS}/changed`, { spec: { activeDeadlineSeconds: 61 } }))).toBe(
      '422 Invalid: Pod "changed" is invalid: spec.activeDeadlineSeconds: Invalid value: 61: must be less than or equal to previous value',
    );
  });

  it('keeps its tolerations and may get more', async () => {
    await objects.make(PODS, pod('tolerant'));
    const { status, body } = await objects.merge(`${PODS}/tolerant`, { spec: { tolerations: [{ key: 'a', operator: 'Exists' }] } });
    expect([
      status,
      (body['spec'] as { readonly tolerations: readonly { readonly key: string }[] }).tolerations.map(({ key }) => key),
    ]).toEqual([200, ['a', 'node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']]);
  });

  it('has a status of its own, but no owners through it', async () => {
    await objects.make(PODS, pod('status'));
    const ownerReferences = [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'x' }];
    const { body } = await objects.merge(`${PODS}/status/status`, {
      metadata: { ownerReferences, labels: { a: 'b' } },
      status: { phase: 'Running' },
    });
    expect([body.metadata['ownerReferences'], body.metadata['labels'], body['status']]).toEqual([
      undefined,
      { a: 'b' },
      { phase: 'Running', qosClass: 'BestEffort' },
    ]);
  });
});

describe('a Node', () => {
  it('is not ready until somebody says so', async () => {
    const body = await objects.make('/api/v1/nodes', { metadata: { name: 'fresh' }, spec: { podCIDR: '10.0.0.0/24' } });
    expect(body['spec']).toEqual({
      podCIDR: '10.0.0.0/24',
      podCIDRs: ['10.0.0.0/24'],
      taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }],
    });
    expect((await objects.merge('/api/v1/nodes/fresh', { status: { phase: 'Running' } })).body).toEqual(body);
    expect(outcome(await objects.merge('/api/v1/nodes/fresh', { spec: { podCIDR: '10.1.0.0/24', podCIDRs: null } }))).toMatch(
      /^422 Invalid: Node "fresh" is invalid: spec\.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid/,
    );
  });
});
