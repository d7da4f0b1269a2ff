// Kubeconfigs that tests hold as text, read as Purser reads the files of KUBECONFIG.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type KubeConfigSource, loadKubeConfig } from '../../src/kube/kube-config.ts';
import { newFolder } from './folders.ts';

/** Writes the text to a file in a new folder, and loads it. */
export async function loadKubeConfigText(text: string): Promise<KubeConfigSource> {
  const path = join(await newFolder(), 'kubeconfig');
  await writeFile(path, text);
  return await loadKubeConfig(path);
}

/** Returns a kubeconfig with the static token of the test administrator. */
export function adminKubeConfig(server: string, ca: string): string {
  return JSON.stringify({
    clusters: [{ name: 'hub', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'admin', user: { token: 'admintoken' } }],
    contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'admin' } }],
    'current-context': 'hub',
  });
}
