// Versions of a custom resource: nobody converts objects but by their version's name, and each version shows what its schema knows.

import type { KubeObject } from '../../../src/kubernetes/object.ts';
import { prune } from '../../../src/kubernetes/schema/prune.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { sameValue } from '../../same-value.ts';
import { withDefaults } from '../../schema/default.ts';
import type { DefinitionSpec } from '../definition/types.ts';
import type { Conversion } from '../kind.ts';

/** How one version reads and writes stored objects. Defaults that came after an object was stored are filled in when it is read. */
export function customConversion(spec: DefinitionSpec, version: string): Conversion {
  const { group, names, versions } = spec;
  const schemas = new Map(versions.map(({ name, schema }) => [`${group}/${name}`, schema?.openAPIV3Schema ?? EVERYTHING]));
  const storage = `${group}/${storageVersion(spec)}`;
  const served = `${group}/${version}`;
  const known = new WeakMap<KubeObject, KubeObject>();
  return {
    storedAs: { group, plural: names.plural },
    toStored: (object) => as(storage, object, schemas),
    fromStored: (stored) => {
      const cached = known.get(stored);
      if (cached !== undefined) return cached;
      const whole = as(stored.apiVersion, stored, schemas);
      const current = as(served, withDefaults(whole, schemas.get(stored.apiVersion) ?? EVERYTHING), schemas);
      // The same object while nothing differs: whoever remembers something about it finds it again.
      const object = sameValue(current, stored) ? stored : current;
      known.set(stored, object);
      return object;
    },
  };
}

/** The version in which objects are stored. */
export function storageVersion({ versions }: DefinitionSpec): string {
  return versions.find(({ storage }) => storage)?.name ?? '';
}

const EVERYTHING: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

function as(apiVersion: string, object: KubeObject, schemas: ReadonlyMap<string, Schema>): KubeObject {
  return { ...prune(object, schemas.get(apiVersion) ?? EVERYTHING).value, apiVersion };
}
