import { describe, expect, it } from '@jest/globals';
import { podKind } from '../../../kinds/core/pod.ts';
import { created, createdText, createErrors, statusUpdated, statusUpdateErrors, updated, updateErrors } from '../write.ts';

const SPEC = { containers: [{ name: 'c', image: 'nginx' }], serviceAccountName: 'builder' };

describe('a pod', () => {
  it('gets what Kubernetes fills in', () => {
    expect(createdText(podKind, { spec: SPEC })).toBe(
      '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","namespace":"team-a","generation":1},"spec":{"containers":[{"name":"c","image":"nginx","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"builder","serviceAccount":"builder","securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{"phase":"Pending","qosClass":"BestEffort"}}',
    );
  });

  it.each([
    ['nginx', 'Always'],
    ['nginx:latest', 'Always'],
    ['localhost:5000/nginx', 'Always'],
    ['nginx:1', 'IfNotPresent'],
    [`nginx@sha256:${'1'.repeat(64)}`, 'IfNotPresent'],
    ['UPPER', 'IfNotPresent'],
  ])('pulls %s %s', (image, imagePullPolicy) => {
    expect(created(podKind, { spec: { containers: [{ name: 'c', image }] } })).toMatchObject({
      spec: { containers: [{ imagePullPolicy }] },
    });
  });

  it.each([
    [{ limits: { cpu: '1', memory: '1Gi' } }, 'Guaranteed'],
    [{ limits: { cpu: '1' } }, 'Burstable'],
    [{ requests: { memory: '1Gi' } }, 'Burstable'],
    [{}, 'BestEffort'],
  ])('with resources %j is %s', (resources, qosClass) => {
    expect(created(podKind, { spec: { containers: [{ name: 'c', image: 'i', resources }] } })).toMatchObject({ status: { qosClass } });
  });

  it('needs containers with names and images', () => {
    expect(createErrors(podKind, { spec: {} })).toEqual(['spec.containers: Required value']);
    const containers = [{ name: 'c' }, { name: 'c', image: 'i' }, { image: 'i' }];
    expect(createErrors(podKind, { spec: { containers } })).toEqual([
      'spec.containers[0].image: Required value',
      'spec.containers[1].name: Duplicate value: "c"',
      'spec.containers[2].name: Required value',
    ]);
  });

  it('has policies from fixed lists', () => {
    expect(createErrors(podKind, { spec: { ...SPEC, restartPolicy: 'X', dnsPolicy: 'Y' } })).toEqual([
      'spec.restartPolicy: Unsupported value: "X": supported values: "Always", "OnFailure", "Never"',
      'spec.dnsPolicy: Unsupported value: "Y": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
    ]);
  });

  const stored = created(podKind, { spec: SPEC })['spec'] as object;
  const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute', operator: 'Equal' };

  it('may get another image, which counts as a new generation', () => {
    const spec = { ...stored, containers: [{ name: 'c', image: 'nginx:1', imagePullPolicy: 'Always' }] };
    expect(updateErrors(podKind, { spec }, { spec: SPEC })).toEqual([]);
    expect(updated(podKind, { spec }, { spec: SPEC }).metadata.generation).toBe(2);
    expect(updated(podKind, { metadata: { labels: { a: 'b' } }, spec: stored }, { spec: SPEC }).metadata.generation).toBe(1);
  });

  it.each([
    [{ nodeName: 'n' }, /^spec: Forbidden: pod updates may not change fields other than `spec\.containers\[\*\]\.image`,/],
    [{ containers: [] }, /^spec\.containers: /],
    [
      { tolerations: [{ ...NOT_READY, value: 'x' }] },
      /^spec\.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds$/,
    ],
    [{ activeDeadlineSeconds: -1 }, /^spec\.activeDeadlineSeconds: Invalid value: -1: must be between 0 and 2147483647, inclusive$/],
  ])('may not change otherwise: %j', (change, expected) => {
    expect(updateErrors(podKind, { spec: { ...stored, ...change } }, { spec: SPEC })[0]).toMatch(expected);
  });

  it('has a status of its own, but for its quality of service', () => {
    const next = {
      metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'K', name: 'n', uid: 'u' }] },
      spec: {},
      status: { phase: 'Running' },
    };
    const pod = statusUpdated(podKind, next, { spec: SPEC });
    expect(pod).toMatchObject({ spec: stored, status: { phase: 'Running', qosClass: 'BestEffort' } });
    expect(pod.metadata.ownerReferences).toBeUndefined();
    expect(statusUpdateErrors(podKind, { status: { qosClass: 'Guaranteed' } }, { spec: SPEC })).toEqual([
      'status.qosClass: Invalid value: "Guaranteed": field is immutable',
    ]);
  });

  it('shows what its status says', () => {
    const pod = { ...created(podKind, { spec: { ...SPEC, nodeName: 'n1' } }), status: { phase: 'Running', podIPs: [{ ip: '10.0.0.1' }] } };
    expect(podKind.table.cells(pod, 0)).toEqual(['x', '0/1', 'Running', '0', '<unknown>', '10.0.0.1', 'n1', '<none>', '<none>']);
  });
});
