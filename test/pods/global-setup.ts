// Starts the test cluster in the namespaces of namespaces.ts: a hub with a node, and a target. They end with the namespaces.

import { globSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { IMAGE } from '../../deploy/release.ts';
import { mergeKubeconfigs } from '../support/merge-kubeconfigs.ts';
import { startRealCluster } from '../support/real-cluster.ts';
import { run } from '../support/run.ts';
import { HUB, TARGET } from './addresses.ts';
import { PUSHED, tagImage } from './container.ts';
import { startNode } from './node.ts';
import { podsFolder, RELEASE } from './run-folder.ts';

/** Options of both clusters. The issuer is the audience of the samples. */
const OPTIONS = { controllers: true, issuer: 'https://kubernetes.default.svc' };

export default async function globalSetup(): Promise<void> {
  const folder = podsFolder();
  await createNetwork();
  const [hub, target] = await Promise.all([HUB, TARGET].map((address) => startRealCluster({ ...OPTIONS, address })));
  if (hub === undefined || target === undefined) throw new Error('A cluster did not start.');
  await writeFile(join(folder, 'kubeconfig'), JSON.stringify(await mergeKubeconfigs({ hub, target })), { mode: 0o600 });
  const images = [join(folder, 'busybox.tar'), ...globSync(join(folder, RELEASE, '*-image.tar'))];
  await startNode(hub, { address: HUB, folder, controlGroup: basename(folder), images });
  // Names the image as if it had been pushed to the README's registry, so that kubelet finds the image without a registry.
  await tagImage(IMAGE, PUSHED);
}

/** Creates a bridge with the addresses of the API servers, and a route for addresses of Services, which kube-proxy replaces. */
async function createNetwork(): Promise<void> {
  const commands = [
    'sysctl -q -w net.ipv4.ip_forward=1',
    'ip link add purser0 type bridge',
    ...[HUB, TARGET].map((address) => `ip address add ${address}/24 dev purser0`),
    'ip link set purser0 up',
    'ip route add 10.0.0.0/24 dev purser0',
  ];
  const { code, stderr } = await run('sh', ['-ec', commands.join('\n')]);
  if (code !== 0) throw new Error(stderr);
}
