// Search for tokens in logs, events, status, annotations, the history, and files that Purser wrote, which must not contain any (I6).

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiError } from './api.ts';
import type { Bench } from './bench.ts';
import type { BenchCluster } from './bench-cluster.ts';
import type { Purser } from './purser.ts';

/** Length of the searched parts of a signature, in characters. */
const WINDOW = 24;

/** Records a violation for each string that contains a part of a token's signature. */
export async function scanForTokens(bench: Bench): Promise<void> {
  const tokens = new Set([...bench.prober.seenTokens, ...bench.bearers.clusters.keys()]);
  const windows = toWindows([...tokens].flatMap(encodeSignature));
  for (const [where, text] of await collectTexts(bench)) {
    if (containsAny(text, windows)) bench.recordViolation('I6', `${where} contains a part of a token`);
  }
}

/** Returns all substrings of 24 characters. */
export function toWindows(texts: readonly string[]): ReadonlySet<string> {
  const windows = new Set<string>();
  for (const text of texts) for (let at = 0; at + WINDOW <= text.length; at += 1) windows.add(text.slice(at, at + WINDOW));
  return windows;
}

/** Returns true if a string contains one of the windows. */
export function containsAny(text: string, windows: ReadonlySet<string>): boolean {
  for (const [run] of text.matchAll(/[\w+/=-]{24,}/g)) {
    for (let at = 0; at + WINDOW <= run.length; at += 1) if (windows.has(run.slice(at, at + WINDOW))) return true;
  }
  return false;
}

/** Returns the signature, plain and base64-encoded at each of the three alignments. */
function encodeSignature(token: string): readonly string[] {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  const encoded = [0, 1, 2].map((skip) => Buffer.from(signature.slice(skip)).toString('base64').replace(/.{4}$/, ''));
  return [signature, ...encoded];
}

const LISTS = [
  '/apis/tokens.purser.dev/v1alpha1/managedtokens',
  '/apis/registry.purser.dev/v1alpha1/clusters',
  '/api/v1/events',
  '/api/v1/configmaps',
];

type Text = readonly [where: string, text: string];

async function collectTexts({ clusters, folder, historyFile, pursers }: Bench): Promise<readonly Text[]> {
  const objects = await Promise.all(clusters.map(collectObjects));
  const files = (await readdir(folder)).filter((name) => !/\.(token|kubeconfig|key)$/.test(name)).map((name) => join(folder, name));
  const texts = await Promise.all([...files, historyFile].map(async (path): Promise<Text> => [path, await readFile(path, 'utf8')]));
  const metrics = await Promise.all(pursers.filter(({ isRunning }) => isRunning).map(collectMetrics));
  return [...objects.flat(), ...metrics, ...texts];
}

/** Returns the objects of a cluster; for Secrets, only the metadata. Purser's kinds exist only on hubs. */
async function collectObjects({ name, api }: BenchCluster): Promise<readonly Text[]> {
  const list = async (path: string): Promise<Text> => {
    const objects = await api.list(path).catch((error: unknown) => {
      if (error instanceof ApiError && error.code === 404) return [];
      throw error as Error;
    });
    return [`${name}: ${path}`, JSON.stringify(objects)];
  };
  const secrets = (await api.list('/api/v1/secrets')).map(({ metadata }) => metadata);
  return [...(await Promise.all(LISTS.map(list))), [`${name}: metadata of Secrets`, JSON.stringify(secrets)]];
}

async function collectMetrics(purser: Purser): Promise<Text> {
  const { metrics } = await purser.waitForAddresses();
  return ['metrics', await fetch(`${metrics}/metrics`).then((response) => response.text())];
}
