// Paths and operations of one kind. kubectl finds the kind by its extension and looks whether writes can be validated.

import type { Kind, Verb } from '../../kinds/kind.ts';

/** The path items of a kind; `schema` refers to its component. */
export function pathsOf(kind: Kind, schema: string): Readonly<Record<string, object>> {
  const { group, version, plural, namespaced, subresources } = kind;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const scoped = namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`;
  const item = `${scoped}/{name}`;
  const parameters = namespaced ? [inPath('namespace', 'The namespace of the object.')] : [];
  const named = [...parameters, inPath('name', 'The name of the object.')];
  return {
    ...(namespaced && { [`${root}/${plural}`]: operations(kind, { get: 'list' }, schema) }),
    [scoped]: {
      ...operations(kind, { get: 'list', post: 'create', delete: 'deletecollection' }, schema),
      ...(namespaced && { parameters }),
    },
    [item]: { ...operations(kind, { get: 'get', put: 'update', patch: 'patch', delete: 'delete' }, schema), parameters: named },
    ...(subresources.some(({ name }) => name === 'status') && {
      [`${item}/status`]: { ...operations(kind, { get: 'get', put: 'update', patch: 'patch' }, schema), parameters: named },
    }),
  };
}

type Method = 'get' | 'put' | 'post' | 'patch' | 'delete';

function operations(kind: Kind, verbs: Partial<Record<Method, Verb>>, schema: string): object {
  const served = Object.entries(verbs).filter(([, verb]) => kind.verbs.includes(verb));
  return Object.fromEntries(served.map(([method, verb]) => [method, operation(kind, verb, schema)]));
}

const ACTIONS: Readonly<Record<Verb, string>> = {
  create: 'post',
  delete: 'delete',
  deletecollection: 'deletecollection',
  get: 'get',
  list: 'list',
  patch: 'patch',
  update: 'put',
  watch: 'watch',
};

function operation({ group, version, kind, builtIn }: Kind, verb: Verb, schema: string): object {
  const content = (types: readonly string[]) => Object.fromEntries(types.map((type) => [type, { schema: { $ref: schema } }]));
  const isWrite = verb === 'create' || verb === 'update' || verb === 'patch';
  return {
    'x-kubernetes-action': ACTIONS[verb],
    'x-kubernetes-group-version-kind': { group, version, kind },
    ...(isWrite && { parameters: writeParameters(verb) }),
    ...(isWrite && { requestBody: { content: verb === 'patch' ? patchContent(builtIn) : content(MEDIA_TYPES) } }),
    responses: { '200': { description: 'OK', content: content(MEDIA_TYPES) } },
  };
}

const MEDIA_TYPES = ['application/json', 'application/yaml'];

function patchContent(builtIn: boolean): object {
  const types = [
    'application/apply-patch+yaml',
    'application/json-patch+json',
    'application/merge-patch+json',
    ...(builtIn ? ['application/strategic-merge-patch+json'] : []),
  ];
  return Object.fromEntries(types.map((type) => [type, { schema: { type: 'object' } }]));
}

function writeParameters(verb: Verb): readonly object[] {
  return [
    inQuery('dryRun', 'string', 'With All, the request is checked but nothing is stored.'),
    inQuery('fieldManager', 'string', 'The name under which the written fields are recorded.'),
    inQuery('fieldValidation', 'string', 'What happens to unknown and repeated fields: Ignore, Warn or Strict.'),
    ...(verb === 'patch' ? [inQuery('force', 'boolean', 'Whether apply takes fields over from other managers.')] : []),
  ];
}

function inQuery(name: string, type: string, description: string): object {
  return { name, in: 'query', description, schema: { type } };
}

function inPath(name: string, description: string): object {
  return { name, in: 'path', required: true, description, schema: { type: 'string' } };
}
