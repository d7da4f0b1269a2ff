// Kinds that come from CustomResourceDefinitions: one per served version.

import { customTable } from '../../../src/kubernetes/custom-table.ts';
import { isFields, type KubeObject, type Value } from '../../../src/kubernetes/object.ts';
import { OBJECT_META } from '../../../src/kubernetes/schema/go-struct.ts';
import { parseJsonPath } from '../../../src/kubernetes/schema/json-path.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { goNumber } from '../../../src/std/go-text.ts';
import { compareVersions } from '../../discovery/groups.ts';
import type { CustomResourceDefinition, DefinitionNames, DefinitionSpec, DefinitionVersion, SelectableField } from '../definition/types.ts';
import type { Kind, Verb } from '../kind.ts';
import { customConversion, storageVersion } from './conversion.ts';
import { customRules } from './rules.ts';

const VERBS: readonly Verb[] = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];

const GOING = 'create not allowed while custom resource definition is terminating';

/** What a definition serves: nothing before it is established, and then under the names that were accepted. */
export function servedKinds(definition: CustomResourceDefinition): readonly Kind[] {
  const { acceptedNames, conditions } = definition.status ?? {};
  const isEstablished = conditions?.some(({ type, status }) => type === 'Established' && status === 'True');
  if (!isEstablished) return [];
  return customKinds({ ...definition, spec: { ...definition.spec, names: acceptedNames ?? definition.spec.names } });
}

/** The kinds of a validated definition, in the order of its versions. */
export function customKinds({ metadata, spec }: CustomResourceDefinition): readonly Kind[] {
  const going = metadata.deletionTimestamp === undefined ? {} : { creationRefusal: GOING };
  return spec.versions.filter(({ served }) => served).map((version) => ({ ...customKind(spec, version), ...going }));
}

function customKind(spec: DefinitionSpec, version: DefinitionVersion): Kind {
  const { group, names } = spec;
  const self = { group, version: version.name, kind: names.kind };
  const schema = version.schema?.openAPIV3Schema ?? { type: 'object' };
  const hasStatus = version.subresources?.status !== undefined;
  const namespaced = spec.scope === 'Namespaced';
  return {
    ...self,
    ...namesOf(names),
    namespaced,
    verbs: VERBS,
    builtIn: false,
    schema: withMetadata(schema),
    subresources: hasStatus ? [{ name: 'status', kind: self, verbs: ['get', 'patch', 'update'] }] : [],
    rules: customRules({ ...self, namespaced, schema, hasStatus }),
    table: customTable(version.additionalPrinterColumns),
    selectableFields: Object.fromEntries((version.selectableFields ?? []).map(selectable)),
    fieldLabelErrors: 'named',
    conversion: customConversion(spec, version.name),
    storageVersion: storageVersion(spec),
    ...(version.deprecated && { deprecationWarning: version.deprecationWarning ?? deprecation(spec, version.name) }),
  };
}

function namesOf(names: DefinitionNames): Pick<Kind, 'listKind' | 'plural' | 'singular' | 'shortNames' | 'categories'> {
  const { kind, plural, singular = kind.toLowerCase(), listKind = `${kind}List`, shortNames = [], categories = [] } = names;
  return { listKind, plural, singular, shortNames, categories };
}

function withMetadata(schema: Schema): Schema {
  const text: Schema = { type: 'string' };
  return { ...schema, properties: { apiVersion: text, kind: text, ...schema.properties, metadata: OBJECT_META } };
}

function selectable({ jsonPath }: SelectableField): readonly [string, (object: KubeObject) => string] {
  const path = parseJsonPath(jsonPath);
  return [jsonPath.replace(/^\./, ''), (object) => selectorText(isFields(object) ? path(object)[0] : undefined)];
}

function selectorText(value: Value | undefined): string {
  if (typeof value === 'number' || typeof value === 'bigint') return goNumber(value);
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : '';
}

/** What Kubernetes says of a deprecated version that says nothing itself: which newer one to use. */
function deprecation({ group, names: { kind }, versions }: DefinitionSpec, version: string): string {
  const [newest] = versions
    .filter(({ served, deprecated, name }) => served && !deprecated && compareVersions(name, version) < 0)
    .map(({ name }) => name)
    .sort(compareVersions);
  return `${group}/${version} ${kind} is deprecated${newest === undefined ? '' : `; use ${group}/${newest} ${kind}`}`;
}
