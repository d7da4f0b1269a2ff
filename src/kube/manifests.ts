// Reads, parses, applies and deletes manifests.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import {
  type ApiObject,
  ClusterRoleBindings,
  ClusterRoles,
  CustomResourceDefinitions,
  ManagedTokenSets,
  ManagedTokens,
  Namespaces,
  type Resource,
  RoleBindings,
  Roles,
  ServiceAccounts,
} from '../api/resources.ts';
import { ignoreReasons } from '../kubernetes/status.ts';
import { packageRoot } from '../std/package-root.ts';
import type { CallOptions, KubeClient } from './client.ts';
import { nameOf } from './paths.ts';

/** Reads the objects of a YAML file, or of all YAML files in a folder; see `resolveRepositoryPath` for `path`. */
export async function readManifests(path: string): Promise<readonly ApiObject[]> {
  const root = resolveRepositoryPath(path);
  const files = path.endsWith('.yaml')
    ? [root]
    : (await readdir(root))
        .sort()
        .filter(isYaml)
        .map((name) => join(root, name));
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return texts.flatMap(parseManifests);
}

/** Parses all documents of a YAML text. */
export function parseManifests(text: string): readonly ApiObject[] {
  return parseAllDocuments(text).map((document) => document.toJS() as ApiObject);
}

/** Returns the absolute path of a file or folder in the repository, the package or the image, which have the same layout. */
export function resolveRepositoryPath(path: string): string {
  return join(packageRoot, path);
}

/** Applies the objects in order; takes over fields of other managers. */
export async function applyAll(client: KubeClient, objects: readonly ApiObject[], options?: CallOptions): Promise<void> {
  for (const object of objects) await client.apply(findResource(object), object, { ...options, force: true });
}

/** Deletes the objects, the last one first; ignores objects that do not exist. */
export async function deleteAll(client: KubeClient, objects: readonly ApiObject[], options?: CallOptions): Promise<void> {
  for (const object of objects.toReversed()) await ignoreReasons(client.delete(findResource(object), nameOf(object), options), 'NotFound');
}

/** Creates missing objects; leaves existing ones unchanged. */
export async function applyMissing(client: KubeClient, objects: readonly ApiObject[], options?: CallOptions): Promise<void> {
  for (const object of objects) {
    const resource = findResource(object);
    const found = await ignoreReasons(client.get(resource, nameOf(object), options), 'NotFound');
    if (found === undefined) await client.apply(resource, object, options);
  }
}

const RESOURCES: readonly Resource<ApiObject>[] = [
  CustomResourceDefinitions,
  Namespaces,
  ServiceAccounts,
  ClusterRoles,
  ClusterRoleBindings,
  Roles,
  RoleBindings,
  ManagedTokens,
  ManagedTokenSets,
];

function findResource({ kind, metadata }: ApiObject): Resource<ApiObject> {
  const resource = RESOURCES.find((candidate) => candidate.kind === kind);
  if (resource === undefined) throw new Error(`unknown kind ${kind} of manifest ${metadata.name}`);
  return resource;
}

function isYaml(name: string): boolean {
  return name.endsWith('.yaml');
}
