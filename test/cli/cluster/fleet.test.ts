import { describe, expect, it } from '@jest/globals';
import type { Cluster } from '../../../src/api/cluster.gen.ts';
import { listClusters, showCluster } from '../../../src/cli/cluster/fleet.ts';
import type { Peer } from '../../../src/cli/cluster/peer.ts';
import type { OutputFormat } from '../../../src/cli/options.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { notFound } from '../../../src/kubernetes/status.ts';
import { FakeClock } from '../../support/clock.ts';

const EU = {
  apiVersion: 'registry.purser.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: 'eu', uid: 'u', resourceVersion: '1', labels: { env: 'prod' }, creationTimestamp: '2026-02-27T12:00:00Z' },
  spec: {
    orchestratorApiEndpoints: { caBundle: 'PEM', serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://eu.example.com' }] },
    authInfo: { controller: { kind: 'Secret', namespace: 'purser-system', name: 'eu-credential' } },
  },
  status: {
    version: 'v1.36.4',
    type: 'Kubernetes',
    activeEndpoint: 'https://eu.example.com',
    lastProbeTime: '2026-03-01T11:59:50Z',
    probeLatencyMilliseconds: 12,
    credentialExpirationTime: '2026-03-08T11:00:00Z',
    credentialRenewalTime: '2026-03-04T23:00:00Z',
    conditions: [
      { type: 'Ready', status: 'False', reason: 'NotReady', message: 'Not ready.', lastTransitionTime: '2026-03-01T11:55:00Z' },
      {
        type: 'Reachable',
        status: 'True',
        reason: 'Responding',
        message: 'It\u001B[31m responds.',
        lastTransitionTime: '2026-03-01T11:00:00Z',
      },
    ],
  },
} as const satisfies Cluster;
const NEW = {
  ...EU,
  metadata: { name: 'new', uid: 'v', resourceVersion: '2' },
  status: { credentialExpirationTime: '2026-03-01T11:00:00Z', credentialRenewalTime: '2026-03-01T10:00:00Z' },
};

const event = (minute: string, reason: string) => ({
  metadata: { namespace: 'default', name: reason },
  involvedObject: {},
  type: 'Warning',
  reason,
  count: 3,
  message: `${reason}.`,
  lastTimestamp: `2026-03-01T11:${minute}:00Z`,
});

const requests: unknown[] = [];

const hub: Peer = {
  role: 'hub',
  context: 'hub',
  client: {
    listAll: async (_: unknown, options: { readonly labelSelector?: string }) => {
      requests.push(options.labelSelector);
      return [EU, NEW];
    },
    get: async (_: unknown, { name }: { readonly name: string }) => {
      if (name !== 'eu') throw notFound({ group: 'registry.purser.dev', name: 'clusters' }, name);
      return EU;
    },
    list: async () => ({ items: [event('10', 'Old'), event('59', 'Latest')], resourceVersion: '1' }),
  } as unknown as KubeClient,
};

async function captureOutput(action: (host: never) => Promise<void>, columns?: number): Promise<string> {
  let text = '';
  const host = {
    clock: new FakeClock(),
    env: {},
    columns,
    print: (more: string) => void (text += more),
    warn: () => {},
    signal: new AbortController().signal,
  };
  await action(host as never);
  return text;
}

const list = (output?: OutputFormat, columns?: number) =>
  captureOutput((host) => listClusters(hub, { output, selector: 'env=prod' }, host), columns);

describe('listClusters', () => {
  it('prints timestamps in a pipe, and sends the selector', async () => {
    expect(await list()).toBe(
      [
        'NAME   READY     REASON      VERSION   LATENCY   CREDENTIAL EXPIRES     LAST PROBE',
        'eu     False     NotReady    v1.36.4   12ms      2026-03-08T11:00:00Z   2026-03-01T11:59:50Z',
        'new    Unknown   NotProbed   <none>    <none>    2026-03-01T11:00:00Z   <none>',
        '',
      ].join('\n'),
    );
    expect(requests.at(-1)).toBe('env=prod');
  });

  it('prints countdowns and ages on a terminal', async () => {
    expect(await list('table', 120)).toBe(
      [
        'NAME   READY     REASON      VERSION   LATENCY   CREDENTIAL EXPIRES   LAST PROBE',
        'eu     False     NotReady    v1.36.4   12ms      in 6d23h             10s ago',
        'new    Unknown   NotProbed   <none>    <none>    expired              <none>',
        '',
      ].join('\n'),
    );
  });

  it('prints endpoint, credential and renewal with -o wide', async () => {
    const [head = '', row, late] = (await list('wide', 200)).split('\n');
    expect(head).toMatch(/TYPE +ENDPOINT +CREDENTIAL +RENEWAL +AGE$/);
    expect(row).toMatch(/Kubernetes +https:\/\/eu\.example\.com +Secret purser-system\/eu-credential +in 3d11h +2d ago$/);
    expect(late).toMatch(/ expired .* overdue /);
  });
});

describe('showCluster', () => {
  it('prints fields, endpoints, conditions with Ready last, and the latest events first', async () => {
    expect(await captureOutput((host) => showCluster(hub, 'eu', undefined, host), 120)).toBe(
      [
        'Name:             eu',
        'Labels:           env=prod',
        'Version:          v1.36.4, Kubernetes',
        'CA:               caBundle',
        'Active endpoint:  https://eu.example.com',
        'Latency:          12ms',
        'Last probe:       10s ago',
        'Credential:       Secret purser-system/eu-credential',
        '  Renewal:        Auto',
        '  Expires:        in 6d23h',
        '  Next renewal:   in 3d11h',
        '',
        'Endpoints:',
        '  ADDRESS                  CLIENTS',
        '  https://eu.example.com   0.0.0.0/0',
        '',
        'Conditions:',
        '  TYPE        STATUS   REASON       CHANGED   MESSAGE',
        '  Reachable   True     Responding   60m ago   It [31m responds.',
        '  Ready       False    NotReady     5m ago    Not ready.',
        '',
        'Events:',
        '  LAST SEEN   TYPE      REASON   COUNT   MESSAGE',
        '  60s ago     Warning   Latest   3       Latest.',
        '  50m ago     Warning   Old      3       Old.',
        '',
      ].join('\n'),
    );
  });

  it('prints the object with -o json, without events', async () => {
    expect(JSON.parse(await captureOutput((host) => showCluster(hub, 'eu', 'json', host)))).toEqual(JSON.parse(JSON.stringify(EU)));
  });

  it('fails for a Cluster that does not exist', async () => {
    await expect(captureOutput((host) => showCluster(hub, 'us', undefined, host))).rejects.toThrow(
      'Cluster us was not found on the hub. Check the name and the context of the hub',
    );
  });
});
