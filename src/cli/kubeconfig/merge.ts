// Merges a context into a kubeconfig file. Everything else in the file stays as it is, comments included.

import { lstat, mkdir, open, readFile, realpath, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Document, isMap, isSeq, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml';
import { writePrivate } from '../../std/private-file.ts';
import { CommandError } from '../command.ts';

/** A kubeconfig with one context. */
export interface Kubeconfig {
  readonly apiVersion: 'v1';
  readonly kind: 'Config';
  readonly clusters: readonly [Named<'cluster'>];
  readonly users: readonly [Named<'user'>];
  readonly contexts: readonly [Named<'context'>];
  readonly 'current-context': string;
}

/** An entry of a list of a kubeconfig. */
export type Named<Field extends string> = { readonly name: string } & { readonly [Key in Field]: Readonly<Record<string, unknown>> };

/**
 * Merges a kubeconfig into the file that kubectl would write to: the first of several files that exists. Returns its path. Replaces the
 * file atomically, so that a crash loses nothing, and holds the lock of kubectl meanwhile. Throws a CommandError.
 */
export async function mergeIntoFile(files: readonly string[], kubeconfig: Kubeconfig): Promise<string> {
  const file = await destinationOf(files);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const lock = `${file}.lock`;
  await open(lock, 'wx').then(
    (handle) => handle.close(),
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw new CommandError(`cannot write ${file}: ${error.message}. Check its permissions`);
      throw new CommandError(`${file} is locked by another program. Try again, or remove ${lock} if no program uses it`);
    },
  );
  try {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw new CommandError(`cannot read ${file}: ${error.message}. Check its permissions`);
    });
    await writePrivate(file, mergeText(text, kubeconfig, file));
    return file;
  } finally {
    await rm(lock, { force: true });
  }
}

/** Returns a kubeconfig file with the entries of `kubeconfig`. Throws a CommandError for entries of the same name that another program wrote. */
export function mergeText(text: string, kubeconfig: Kubeconfig, file: string): string {
  const document = parseDocument(text);
  const [problem] = document.errors;
  const isUsable = problem === undefined && (document.contents === null || isMap(document.contents));
  if (!isUsable) throw new CommandError(`${file} is not a kubeconfig: ${problem?.message.split('\n')[0] ?? 'no mapping'}. Correct it`);
  const { 'current-context': name, apiVersion, kind } = kubeconfig;
  checkOwner(document, kubeconfig, file);
  for (const [key, value] of Object.entries({ apiVersion, kind })) if (!document.has(key)) document.set(key, value);
  for (const list of ['clusters', 'users', 'contexts'] as const) for (const entry of kubeconfig[list]) replaceEntry(document, list, entry);
  // The context of the user stays the current one.
  if (!document.get('current-context')) document.set('current-context', name);
  return document.toString({ lineWidth: 0 });
}

async function destinationOf(files: readonly string[]): Promise<string> {
  for (const file of files) {
    // A symbolic link stays one: its target is replaced.
    const found = await realpath(file).catch(() => undefined);
    if (found !== undefined) return found;
    if (await lstat(file).catch(() => undefined)) throw new CommandError(`${file} is a link to a file that does not exist. Correct it`);
  }
  const last = files.at(-1);
  if (last === undefined) throw new CommandError('no kubeconfig to write to. Set --kubeconfig');
  return last;
}

/** Throws for a context, cluster or user with the same name that `purser kubeconfig` did not write. */
function checkOwner(document: Document, kubeconfig: Kubeconfig, file: string): void {
  const [context] = kubeconfig.contexts;
  const [user] = kubeconfig.users;
  const expected = context.context['user'];
  const present = findEntry(document, 'contexts', context.name);
  const isOther = present !== undefined && present.getIn(['context', 'user']) !== expected;
  const presentUser = findEntry(document, 'users', user.name);
  const command = presentUser?.getIn(['user', 'exec', 'command']);
  const isOtherUser = presentUser !== undefined && !PLUGIN.test(String(command));
  if (isOther || isOtherUser)
    throw new CommandError(`${file} has a context ${context.name} that purser did not write. Set --name to another name`);
}

/** Command of entries that purser wrote: a name that PATH resolves, or the path of the launcher. */
const PLUGIN = /(^|\/)purser(\.cjs)?$/;

function replaceEntry(document: Document, list: string, entry: { readonly name: string }): void {
  const node = document.createNode(entry);
  const entries = listOf(document, list);
  if (entries === undefined) return document.set(list, document.createNode([entry]));
  const index = entries.items.findIndex((item) => isMap(item) && item.get('name') === entry.name);
  if (index === -1) entries.add(node);
  else entries.items[index] = node;
}

function findEntry(document: Document, list: string, name: string): YAMLMap | undefined {
  const found = listOf(document, list)?.items.find((item) => isMap(item) && item.get('name') === name);
  return isMap(found) ? found : undefined;
}

/** Returns a list of the file; undefined if it is absent or null. */
function listOf(document: Document, list: string): YAMLSeq | undefined {
  const found = document.get(list, true);
  return isSeq(found) ? found : undefined;
}
