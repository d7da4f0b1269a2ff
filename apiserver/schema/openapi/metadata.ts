// The metadata of all objects, described for `kubectl explain`.

import { OBJECT_META } from '../../../src/kubernetes/schema/go-struct.ts';
import { type Components, publishedSchema } from './schema.ts';

/** The published schema of metadata. */
export function describedMetadata(components: Components): object {
  const properties = Object.entries(OBJECT_META.properties ?? {}).map(([name, schema]) => {
    const description = DESCRIPTIONS[name];
    return [name, description === undefined ? schema : { ...schema, description }] as const;
  });
  const description = 'What every stored object has: its name, who wrote it and when, and what it belongs to.';
  return publishedSchema({ ...OBJECT_META, description, properties: Object.fromEntries(properties) }, components);
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  name: 'The name of the object, unique among its kind and namespace. It cannot be changed.',
  generateName: 'Without a name, the beginning of one; the server appends random characters.',
  namespace: 'The namespace that the object is in. It cannot be changed.',
  selfLink: 'Not used any more.',
  uid: 'Tells this object from all others, also from later ones of the same name. Set by the server.',
  resourceVersion: 'Changes with every write. An update that names an older one is refused.',
  generation: 'Counts the changes of what the object asks for. Set by the server.',
  creationTimestamp: 'When the object was created. Set by the server.',
  deletionTimestamp: 'When the object was asked to be deleted; it goes when its finalizers are gone. Set by the server.',
  deletionGracePeriodSeconds: 'How many seconds the object has to go in good order. Set by the server.',
  labels: 'Keys and values that selectors can choose objects by.',
  annotations: 'Keys and values for tools; selectors do not see them.',
  ownerReferences: 'The objects that this one belongs to. When all of them are gone, it is deleted.',
  finalizers: 'Who has something to do before the object may go. Each removes its own entry.',
  managedFields: 'Which manager wrote which fields. Kept by the server.',
};
