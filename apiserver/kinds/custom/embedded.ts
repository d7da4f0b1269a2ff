// Resources inside custom resources: x-kubernetes-embedded-resource demands a type and valid metadata of them.

import { type FieldError, invalidValue, requiredValue } from '../../../src/kubernetes/field-error.ts';
import { dns1035LabelProblems } from '../../../src/kubernetes/names.ts';
import { type Fields, isFields, isList, type Value } from '../../../src/kubernetes/object.ts';
import { fieldPath } from '../../../src/kubernetes/schema/field-path.ts';
import { type Schema, schemaOfField } from '../../../src/kubernetes/schema/schema.ts';
import { validateMetadata } from '../metadata.ts';
import { pathSegmentName } from '../name-rules.ts';

/** What is wrong with the embedded resources of a value. */
export function validateEmbedded(value: Value, schema: Schema | undefined, path = ''): readonly FieldError[] {
  if (schema === undefined) return [];
  if (isList(value)) return value.flatMap((item, index) => validateEmbedded(item, schema.items, `${path}[${index}]`));
  if (!isFields(value)) return [];
  const below = Object.entries(value).flatMap(([key, field = null]) =>
    validateEmbedded(field, schemaOfField(schema, key), fieldPath(path, key, schema)),
  );
  return schema['x-kubernetes-embedded-resource'] ? [...resourceErrors(value, path), ...below] : below;
}

function resourceErrors(resource: Fields, path: string): readonly FieldError[] {
  const { apiVersion, kind, metadata } = resource;
  return [
    ...textErrors(apiVersion, `${path}.apiVersion`, versionProblem),
    ...textErrors(kind, `${path}.kind`, kindProblem),
    ...(metadata === undefined ? [] : metadataErrors(metadata, path)),
  ];
}

function textErrors(value: Value | undefined, field: string, problem: (text: string) => string | undefined): readonly FieldError[] {
  if (typeof value !== 'string') return [requiredValue(field)];
  const detail = value === '' ? 'must not be empty' : problem(value);
  return detail === undefined ? [] : [invalidValue(field, value, detail)];
}

function versionProblem(apiVersion: string): string | undefined {
  return apiVersion.split('/').length > 2 ? `unexpected GroupVersion string: ${apiVersion}` : undefined;
}

function kindProblem(kind: string): string | undefined {
  const problems = dns1035LabelProblems(kind.toLowerCase());
  return problems.length === 0 ? undefined : `may have mixed case, but should otherwise match: ${problems.join(',')}`;
}

function metadataErrors(metadata: Value, path: string): readonly FieldError[] {
  if (!isFields(metadata)) return [];
  const named = { name: 'fakename', ...metadata };
  const rules = { namespaced: typeof metadata['namespace'] === 'string' && metadata['namespace'] !== '', nameProblems: pathSegmentName };
  const errors = validateMetadata({ apiVersion: '', kind: '', metadata: named }, rules);
  return errors.map((error) => ({ ...error, field: `${path}.${error.field}` }));
}
