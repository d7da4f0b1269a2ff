// All forms in which a list returns an object: list, events, single object, tables, metadata and YAML.

import { type ListReplica, requestOf, type TestCaller } from './replica.ts';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const METADATA = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

/** Responses with an object. */
export interface Responses {
  /** The object as JSON, from the list, from the events ADDED, MODIFIED, DELETED and ADDED, and by its name. */
  readonly objects: readonly unknown[];
  /** The text of every response. */
  readonly texts: readonly string[];
}

/** Writes an object twice, deletes it and writes it again, while a caller who sees it watches. Returns all responses. */
export async function responsesWith(
  replica: ListReplica,
  caller: TestCaller,
  {
    name,
    namespace,
    put,
    remove,
  }: { readonly name: string; readonly namespace?: string; readonly put: () => void; readonly remove: () => void },
): Promise<Responses> {
  const stream = await replica.watch('', caller);
  for (const write of [put, put, remove, put]) write();
  await replica.catchUp();
  const list = await replica.get('', caller);
  const events = stream.take();
  if (events.map(({ type }) => type).join() !== 'ADDED,MODIFIED,DELETED,ADDED') throw new Error(`events: ${stream.text}`);
  const one = await replica.getOne(name, caller, { ...(namespace && { namespace }) });
  stream.leave();
  return {
    objects: [...events.map(({ object }) => object), ...list.body.items, JSON.parse(one.text)],
    texts: [
      list.text,
      stream.text,
      one.text,
      await textOf(replica, caller, TABLE, 'includeObject=Object'),
      await textOf(replica, caller, TABLE),
      await textOf(replica, caller, METADATA),
      await textOf(replica, caller, 'application/yaml'),
    ],
  };
}

async function textOf(replica: ListReplica, caller: TestCaller, accept: string, query = ''): Promise<string> {
  const request = requestOf(query, caller);
  const reply = await replica.endpoints.list({ ...request, preferences: { ...request.preferences, accept } });
  if ('write' in reply || typeof reply.body !== 'string') throw new Error('not a text');
  return reply.body;
}

/** Returns the paths of all values; an empty object or list is a value. */
export function pathsOf(value: unknown, path = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([name, field]) => pathsOf(field, path === '' ? name : `${path}.${name}`));
}
