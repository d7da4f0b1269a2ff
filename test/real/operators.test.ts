// Validates objects of other operators against their custom resource definitions on a real API server.

import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { kubeBinaries } from '../support/kube-binaries.ts';
import { CRD_MODULES, crdFiles } from '../support/operator-crds.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { type RunResult, run } from '../support/run.ts';
import { type DeployedObject, kustomized } from './deploy-world.ts';

jest.setTimeout(120_000);

let cluster: RealCluster;

async function kubectl(...args: readonly string[]): Promise<RunResult> {
  return await run(kubeBinaries()?.kubectl ?? 'kubectl', ['--kubeconfig', await cluster.kubeconfig('admin'), ...args]);
}

beforeAll(async () => {
  cluster = await startRealCluster();
  const files = CRD_MODULES.flatMap((module) => crdFiles(module)).flatMap((file) => ['-f', file]);
  const installed = await kubectl('apply', '--server-side', ...files);
  if (installed.code !== 0) throw new Error(installed.complaints);
  await kubectl('wait', 'crd', '--all', '--for=condition=Established', '--timeout=60s');
  await kubectl('create', 'namespace', 'purser-system');
});

afterAll(() => cluster?.stop());

async function offer(objects: readonly object[]): Promise<RunResult> {
  const file = join(await mkdtemp(join(cluster.folder, 'objects-')), 'list.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  return await kubectl('create', '--validate=strict', '--dry-run=server', '-f', file);
}

function foreign(objects: readonly DeployedObject[]): readonly DeployedObject[] {
  return objects.filter(({ apiVersion }) => /^(monitoring\.coreos\.com|cert-manager\.io)\//.test(apiVersion));
}

describe.each([
  ['monitoring', ['PrometheusRule', 'ServiceMonitor']],
  ['cert-manager', ['Certificate', 'Certificate', 'Issuer', 'Issuer']],
])('component %s', (name, kinds) => {
  it('passes strict validation without a warning', async () => {
    const objects = foreign(await kustomized(`components/${name}`));

    expect(objects.map(({ kind }) => kind).sort()).toEqual(kinds);
    expect(await offer(objects)).toMatchObject({ code: 0, complaints: '' });
  });

  it('fails strict validation with an unknown field', async () => {
    const [first] = foreign(await kustomized(`components/${name}`)) as readonly [DeployedObject & { readonly spec: object }];
    const { code, complaints } = await offer([{ ...first, spec: { ...first.spec, invented: true } }]);

    expect([code, complaints]).toEqual([1, expect.stringMatching(/unknown field "(spec\.)?invented"/)]);
  });
});
