// Objects in responses from the façade to lists, gets and watches. Independent of Purser's code.

import type { SeenObject } from '../history.ts';

/** Returns the objects that a response shows: of a list, a table, a get or a watch. A Status shows none. */
export function findShown(path: string, body: string): readonly SeenObject[] {
  const resource = /^\/auth\/v1\/(?:namespaces\/[^/?]+\/)?(clusters|managedtokens)\b/.exec(path)?.[1];
  if (resource === undefined) return [];
  const found = new Map<string, SeenObject>();
  for (const line of body.split('\n')) {
    for (const { namespace = '', name } of metadataIn(parse(line))) found.set(`${namespace}/${name}`, { resource, namespace, name });
  }
  return [...found.values()];
}

/** Returns the last continue token or version of lists in a response; undefined without one. */
export function findText(body: string, field: 'continue' | 'resourceVersion'): string | undefined {
  return [...body.matchAll(new RegExp(`"${field}":"([\\w=-]+)"`, 'g'))].at(-1)?.[1];
}

interface Metadata {
  readonly namespace?: string;
  readonly name: string;
}

/** Returns the metadata with a name in a value and in all values within it. */
function metadataIn(value: unknown): readonly Metadata[] {
  if (typeof value !== 'object' || value === null) return [];
  const { metadata } = value as { readonly metadata?: Partial<Metadata> };
  const own = typeof metadata?.name === 'string' ? [metadata as Metadata] : [];
  return [...own, ...Object.values(value).flatMap(metadataIn)];
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // A watch that was cut ends within a line.
    return undefined;
  }
}
