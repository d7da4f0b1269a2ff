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
