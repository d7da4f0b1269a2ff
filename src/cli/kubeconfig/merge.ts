// Merges a context into a kubeconfig file. Everything else in the file stays as it is, including comments.

import { lstat, mkdir, open, readFile, realpath, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Document, isAlias, isMap, isSeq, type Node, parseDocument, type YAMLSeq } from 'yaml';
import { writePrivateFile } from '../../std/private-file.ts';
import { CommandError } from '../command.ts';
import { quoteStrings } from '../yaml-quotes.ts';

/** A kubeconfig with one context. */
export interface Kubeconfig {
  readonly apiVersion: 'v1';
  readonly kind: 'Config';
  readonly clusters: readonly [NamedEntry<'cluster'>];
  readonly users: readonly [NamedEntry<'user'>];
  readonly contexts: readonly [NamedEntry<'context'>];
  readonly 'current-context': string;
}

/** An entry in a kubeconfig list. */
export type NamedEntry<Field extends string> = { readonly name: string } & { readonly [Key in Field]: Readonly<Record<string, unknown>> };

/** A kubeconfig file and its content. */
export interface KubeconfigFile {
  readonly path: string;
  readonly text: string;
}

/**
 * Merges a kubeconfig into the file that kubectl would write to: the first of `files` that exists, or else the last. Returns the path of
 * that file. Replaces the file atomically, so that a crash loses no data, and holds kubectl's lock files during the merge. Throws a
 * CommandError if a file is locked or unusable.
 */
export async function mergeIntoFile(files: readonly string[], kubeconfig: Kubeconfig): Promise<string> {
  const { given, path } = await findDestination(files);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await using locks = new AsyncDisposableStack();
  // kubectl locks the path that it is given, which may be a symbolic link.
  for (const locked of new Set([given, path])) {
    await createLock(locked);
    locks.defer(() => rm(toLockPath(locked), { force: true }));
  }
  const others = await Promise.all(files.filter((file) => file !== given).map(readKubeconfigFile));
  const merged = mergeText(
    await readKubeconfigFile(path),
    kubeconfig,
    others.filter((other) => other.path !== path),
  );
  await writePrivateFile(path, merged);
  return path;
}

/**
 * Returns the content of a kubeconfig file with the entries of `kubeconfig` added or replaced. `others` are the additional files that
 * kubectl merges with it. Throws a CommandError if any of the files is malformed, or has an entry of the same name that another program
 * wrote.
 */
export function mergeText(file: KubeconfigFile, kubeconfig: Kubeconfig, others: readonly KubeconfigFile[] = []): string {
  const document = parseFile(file);
  const content = toContent(document, file);
  const contents = [content, ...others.map((other) => toContent(parseFile(other), other))];
  for (const each of contents) checkOwner(each, kubeconfig);
  const { 'current-context': name, apiVersion, kind } = kubeconfig;
  for (const [key, value] of Object.entries({ apiVersion, kind })) if (!document.has(key)) document.set(key, value);
  for (const list of LISTS) {
    const [entry] = kubeconfig[list];
    const { items } = ensureList(document, list, file);
    const index = content[list].findIndex((present) => present.name === entry.name);
    items[index === -1 ? items.length : index] = createNode(document, entry);
  }
  // Keeps the user's current context, which any of the files may set.
  if (contents.every(({ currentContext }) => !currentContext)) document.set('current-context', createNode(document, name));
  return encode(document, file);
}

const LISTS = ['clusters', 'users', 'contexts'] as const;

/** Path of the file to write: as given, and with symbolic links resolved. */
interface Destination {
  readonly given: string;
  readonly path: string;
}

async function findDestination(files: readonly string[]): Promise<Destination> {
  for (const given of files) {
    // Replaces the target of a symbolic link, and keeps the link.
    const path = await realpath(given).catch(() => undefined);
    if (path !== undefined) return { given, path };
    if (await lstat(given).catch(() => undefined))
      throw new CommandError(`${given} is a link to a file that does not exist. Correct the link`);
  }
  const last = files.at(-1);
  if (last === undefined) throw new CommandError('no kubeconfig to write to. Set --kubeconfig');
  return { given: last, path: last };
}

function toLockPath(path: string): string {
  return `${path}.lock`;
}

async function createLock(path: string): Promise<void> {
  try {
    const file = await open(toLockPath(path), 'wx');
    await file.close();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST') throw new CommandError(`cannot write ${path}: ${message}. Check the path and its permissions`);
    throw new CommandError(`${path} is locked by another program. Try again, or remove ${toLockPath(path)} if no program uses it`);
  }
}

/** Reads a file; a file that does not exist is read as empty. The path in the result has no symbolic links. */
async function readKubeconfigFile(file: string): Promise<KubeconfigFile> {
  try {
    return { path: await realpath(file), text: await readFile(file, 'utf8') };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { path: file, text: '' };
    throw new CommandError(`cannot read ${file}: ${message}. Check the path and its permissions`);
  }
}

function parseFile({ path, text }: KubeconfigFile): Document {
  const document = parseDocument(text, { merge: true });
  const [problem] = document.errors;
  if (problem !== undefined) throw unusable(path, problem.message);
  if (document.contents !== null && !isMap(document.contents)) throw unusable(path, 'the content is not a mapping');
  return document;
}

/** Returns the error for a malformed file. `problem` may be an error message of the YAML parser, whose first line ends with a colon. */
function unusable(path: string, problem: string): CommandError {
  return new CommandError(`${path} is not a kubeconfig: ${problem.split('\n')[0]?.replace(/:$/, '')}. Correct the file`);
}

/** An entry in a kubeconfig list that any program may have written, so its fields are unknown. */
interface Entry {
  readonly [field: string]: unknown;
  readonly name?: unknown;
}

/** Entries of a kubeconfig file with all aliases resolved, in the order of the file. */
interface Content {
  readonly path: string;
  readonly currentContext: unknown;
  readonly clusters: readonly Entry[];
  readonly users: readonly Entry[];
  readonly contexts: readonly Entry[];
}

function toContent(document: Document, { path }: KubeconfigFile): Content {
  const values = toRecord(resolveAliases(document, path));
  const toEntries = (list: (typeof LISTS)[number]): readonly Entry[] => {
    const value = values[list] ?? [];
    if (!Array.isArray(value)) throw unusable(path, `${list} is not a list`);
    return value.map(toRecord);
  };
  const lists = { clusters: toEntries('clusters'), users: toEntries('users'), contexts: toEntries('contexts') };
  return { path, currentContext: values['current-context'], ...lists };
}

function resolveAliases(document: Document, path: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw unusable(path, (error as Error).message);
  }
}

/** Throws a CommandError if the file has a context, cluster or user with the same name that `purser kubeconfig` did not write. */
function checkOwner({ path, ...lists }: Content, kubeconfig: Kubeconfig): void {
  const [{ name: context }] = kubeconfig.contexts;
  const [{ name: entry }] = kubeconfig.users;
  const contexts = lists.contexts.filter(({ name }) => name === context);
  const users = lists.users.filter(({ name }) => name === entry);
  const reject = (description: string) => {
    throw new CommandError(`${path} has a ${description} that purser did not write. Set --name to another name`);
  };
  if (!contexts.every((each) => isOwnContext(each, entry))) reject(`context ${context}`);
  if (!users.every(isOwnUser)) reject(`user ${entry}`);
  // A cluster entry does not name the program that wrote it. If purser replaced another program's entry, contexts that use the entry would
  // send their tokens to the new server.
  const isOwn = contexts.length > 0 || users.length > 0;
  if (!isOwn && lists.clusters.some(({ name }) => name === entry)) reject(`cluster ${entry}`);
}

function isOwnContext(found: Entry, entry: string): boolean {
  const { cluster, user } = toRecord(found['context']);
  return cluster === entry && user === entry;
}

function isOwnUser(found: Entry): boolean {
  const { command, args } = toRecord(toRecord(found['user'])['exec']);
  return PLUGIN.test(String(command)) && Array.isArray(args) && args[0] === 'credential';
}

/** Matches the command in entries that purser wrote: `purser`, or the path of the launcher. */
const PLUGIN = /(^|\/)purser(\.cjs)?$/;

/** Returns a list of the document; adds the list if it is missing. Throws for an alias: a change would also apply to other fields. */
function ensureList(document: Document, list: string, { path }: KubeconfigFile): YAMLSeq {
  const found = document.get(list, true);
  if (isSeq(found)) return found;
  if (isAlias(found)) throw new CommandError(`the field ${list} in ${path} is a YAML alias. Replace the alias with a copy of the list`);
  const created = document.createNode([]);
  document.set(list, created);
  return created;
}

/** Creates a node whose strings have quotes where kubectl needs them. The rest of the file stays as it is. */
function createNode(document: Document, value: unknown): Node {
  const node = document.createNode(value) as Node;
  quoteStrings(node);
  return node;
}

function encode(document: Document, { path }: KubeconfigFile): string {
  try {
    return document.toString({ lineWidth: 0 });
  } catch (error) {
    throw unusable(path, (error as Error).message);
  }
}

function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
