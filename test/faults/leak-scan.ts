// Search for tokens in logs, events, status, annotations, the history, and files that Purser wrote, which must not contain any (I6).

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench } from './bench.ts';

/** Length of the searched parts of a signature, in characters. */
const WINDOW = 24;

/** Records a violation for each text that contains a part of a token's signature. */
export async function scanForTokens(bench: Bench, historyFile: string): Promise<void> {
  const windows = toWindows([...bench.prober.seenTokens].flatMap(encodeSignature));
  for (const [where, text] of await collectTexts(bench, historyFile)) {
    if (containsAny(text, windows)) bench.recordViolation('I6', `${where} contains a part of a token`);
  }
}

/** Returns all substrings of 24 characters. */
export function toWindows(texts: readonly string[]): ReadonlySet<string> {
  const windows = new Set<string>();
  for (const text of texts) for (let at = 0; at + WINDOW <= text.length; at += 1) windows.add(text.slice(at, at + WINDOW));
  return windows;
}

/** Returns true if a text contains one of the windows. */
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

async function collectTexts({ hub, folder, purser }: Bench, historyFile: string): Promise<readonly (readonly [string, string])[]> {
  const lists = [
    '/apis/tokens.purser.dev/v1alpha1/managedtokens',
    '/apis/registry.purser.dev/v1alpha1/clusters',
    '/api/v1/events',
    '/api/v1/configmaps',
  ];
  const objects = await Promise.all(lists.map(async (path) => [path, JSON.stringify(await hub.api.list(path))] as const));
  const secrets = (await hub.api.list('/api/v1/secrets')).map(({ metadata }) => metadata);
  const files = (await readdir(folder)).filter((name) => !/\.(token|kubeconfig|key)$/.test(name)).map((name) => join(folder, name));
  const texts = await Promise.all([...files, historyFile].map(async (path) => [path, await readFile(path, 'utf8')] as const));
  const metrics = await fetch(`${(await purser.waitForAddresses()).metrics}/metrics`).then((response) => response.text());
  return [...objects, ['metrics', metrics], ['metadata of Secrets', JSON.stringify(secrets)], ...texts];
}
