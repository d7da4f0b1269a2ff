// Validates objects of other operators against their custom resource definitions on a real API server.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CRD_MODULES, crdFiles } from '../support/operator-crds.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import type { RunResult } from '../support/run.ts';
import { type DeployedObject, renderKustomization } from './deploy-world.ts';
import { kubectlOutput, runKubectl, writeList } from './kubectl.ts';

let cluster: RealCluster;

beforeAll(async () => {
  cluster = await startRealCluster();
  const files = CRD_MODULES.flatMap((module) => crdFiles(module)).flatMap((file) => ['-f', file]);
  await kubectlOutput(cluster, ['apply', '--server-side', ...files]);
  await kubectlOutput(cluster, ['wait', 'crd', '--all', '--for=condition=Established', '--timeout=60s']);
  await kubectlOutput(cluster, ['create', 'namespace', 'purser-system']);
});

afterAll(() => cluster?.stop());

async function dryRun(objects: readonly object[]): Promise<RunResult> {
  return await runKubectl(cluster, ['create', '--validate=strict', '--dry-run=server', '-f', await writeList(cluster, objects)]);
}

function filterForeign(objects: readonly DeployedObject[]): readonly DeployedObject[] {
  return objects.filter(({ apiVersion }) => /^(monitoring\.coreos\.com|cert-manager\.io)\//.test(apiVersion));
}

describe.each([
  ['monitoring', ['PrometheusRule', 'ServiceMonitor']],
  ['cert-manager', ['Certificate', 'Certificate', 'Issuer', 'Issuer']],
])('component %s', (name, kinds) => {
  it('contains objects that pass strict validation without a warning', async () => {
    const objects = filterForeign(await renderKustomization(`components/${name}`));

    expect(objects.map(({ kind }) => kind).sort()).toEqual(kinds);
    expect(await dryRun(objects)).toMatchObject({ code: 0, stderr: '' });
  });

  it('contains an object that strict validation rejects with an unknown field', async () => {
    const [first] = filterForeign(await renderKustomization(`components/${name}`)) as readonly [DeployedObject & { readonly spec: object }];
    const { code, stderr } = await dryRun([{ ...first, spec: { ...first.spec, invented: true } }]);

    expect([code, stderr]).toEqual([1, expect.stringMatching(/unknown field "(spec\.)?invented"/)]);
  });
});
