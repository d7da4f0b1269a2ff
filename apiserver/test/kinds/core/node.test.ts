import { describe, expect, it } from '@jest/globals';
import { nodeKind } from '../../../kinds/core/node.ts';
import { created, createdText, updated, updateErrors } from '../write.ts';

describe('a node', () => {
  it('starts tainted, with all its capacity to give', () => {
    expect(createdText(nodeKind, { spec: { podCIDR: '10.0.0.0/24' }, status: { capacity: { cpu: '2' } } })).toBe(
      '{"kind":"Node","apiVersion":"v1","metadata":{"name":"x"},"spec":{"podCIDR":"10.0.0.0/24","podCIDRs":["10.0.0.0/24"],"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]},"status":{"capacity":{"cpu":"2"},"allocatable":{"cpu":"2"},"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""}}}',
    );
  });

  it('gets its addresses and its provider once', () => {
    const old = { spec: { podCIDR: '10.0.0.0/24', providerID: 'p' } };
    expect(updateErrors(nodeKind, { spec: { podCIDR: '10.1.0.0/24', providerID: 'q' } }, old)).toEqual([
      'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
      'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
    ]);
  });

  it('keeps its status in an ordinary update', () => {
    expect(updated(nodeKind, { status: {} }, { status: { phase: 'Running' } })).toMatchObject({ status: { phase: 'Running' } });
  });

  it('shows its readiness, roles and addresses', () => {
    const node = created(nodeKind, {
      metadata: { labels: { 'node-role.kubernetes.io/worker': '', 'kubernetes.io/role': 'edge' } },
      spec: { unschedulable: true },
      status: {
        conditions: [{ type: 'Ready', status: 'False' }],
        addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
        nodeInfo: { kernelVersion: '6.1', architecture: 'arm64', kubeletVersion: 'v1.36.4' },
      },
    });
    expect(nodeKind.table.cells(node, 0)).toEqual([
      'x',
      'NotReady,SchedulingDisabled',
      'edge,worker',
      '<unknown>',
      'v1.36.4',
      '10.0.0.1',
      '<none>',
      '<unknown>',
      '6.1 (arm64)',
      '<unknown>',
    ]);
  });
});
