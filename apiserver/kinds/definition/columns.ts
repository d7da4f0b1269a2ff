// Printer columns, selectable fields and the scale subresource: the JSON paths of a definition.

import type { PrinterColumn } from '../../../src/kubernetes/custom-table.ts';
import { duplicateValue, type FieldError, invalidValue, requiredValue, tooMany } from '../../../src/kubernetes/field-error.ts';
import { type Schema, schemaOfField } from '../../../src/kubernetes/schema/schema.ts';
import { namesOf } from '../../schema/cel/rule-path.ts';
import type { SelectableField, Subresources } from './types.ts';

const TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];
const MAX_SELECTABLE_FIELDS = 8;

/** What is wrong with a printer column. */
export function columnErrors(
  { name = '', type = '', format = '', jsonPath = '' }: Partial<PrinterColumn>,
  path: string,
): readonly FieldError[] {
  const types = `must be one of ${TYPES.join(',')}`;
  return [
    ...(name === '' ? [requiredValue(`${path}.name`)] : []),
    ...(type === '' ? [requiredValue(`${path}.type`, types)] : TYPES.includes(type) ? [] : [invalidValue(`${path}.type`, type, types)]),
    ...(format === '' || FORMATS.includes(format) ? [] : [invalidValue(`${path}.format`, format, `must be one of ${FORMATS.join(',')}`)]),
    ...(jsonPath === '' ? [requiredValue(`${path}.JSONPath`)] : pathErrors(jsonPath, `${path}.JSONPath`)),
  ];
}

function pathErrors(jsonPath: string, field: string): readonly FieldError[] {
  return jsonPath.startsWith('.') ? [] : [invalidValue(field, jsonPath, 'must be a simple json path starting with .')];
}

/** What is wrong with the fields that selectors may name. */
export function selectableErrors(
  fields: readonly Partial<SelectableField>[],
  schema: Schema | undefined,
  path: string,
): readonly FieldError[] {
  const paths = fields.map(({ jsonPath = '' }) => jsonPath);
  const distinct = new Set(paths.filter((each) => each !== '' && schemaAt(each, schema) !== undefined));
  return [
    ...paths.flatMap((jsonPath, index) => {
      const field = `${path}[${index}].jsonPath`;
      const repeated = paths.indexOf(jsonPath) < index && distinct.has(jsonPath);
      return [...selectableFieldErrors(jsonPath, schema, field), ...(repeated ? [duplicateValue(field, jsonPath)] : [])];
    }),
    ...(distinct.size > MAX_SELECTABLE_FIELDS ? [tooMany(path, distinct.size, MAX_SELECTABLE_FIELDS)] : []),
  ];
}

function selectableFieldErrors(jsonPath: string, schema: Schema | undefined, field: string): readonly FieldError[] {
  if (jsonPath === '') return [requiredValue(field)];
  const found = schemaAt(jsonPath, schema);
  if (found === undefined) return [invalidValue(field, jsonPath, `is an invalid path: ${pathProblem(jsonPath)}`)];
  const isScalar = found.type === 'string' || found.type === 'boolean' || found.type === 'integer';
  const scalars = 'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';
  return [
    ...(namesOf(jsonPath)?.[0] === 'metadata' ? [invalidValue(field, jsonPath, 'must not point to fields in metadata')] : []),
    ...(isScalar ? [] : [invalidValue(field, jsonPath, scalars)]),
  ];
}

function schemaAt(jsonPath: string, schema: Schema | undefined): Schema | undefined {
  return jsonPath.includes('[') ? undefined : namesOf(jsonPath)?.reduce<Schema | undefined>(schemaOfField, schema);
}

function pathProblem(jsonPath: string): string {
  if (jsonPath.includes('[')) return 'array notation is not allowed';
  const [token = ''] = jsonPath.split('.');
  return token === '' ? 'does not refer to a valid field' : `expected [ or . but got: ${token}`;
}

/** What is wrong with a scale subresource. */
export function scaleErrors(scale: Subresources['scale'], path: string): readonly FieldError[] {
  if (scale === undefined) return [];
  const { specReplicasPath = '', statusReplicasPath = '', labelSelectorPath = '' } = scale;
  return [
    ...replicasErrors(specReplicasPath, `${path}.specReplicasPath`, '.spec'),
    ...replicasErrors(statusReplicasPath, `${path}.statusReplicasPath`, '.status'),
    ...(labelSelectorPath === '' || /^\.(?:spec|status)\./.test(labelSelectorPath)
      ? []
      : [invalidValue(`${path}.labelSelectorPath`, labelSelectorPath, 'should be a json path under either .spec or .status')]),
  ];
}

function replicasErrors(jsonPath: string, field: string, parent: string): readonly FieldError[] {
  if (jsonPath === '') return [requiredValue(field)];
  const errors = pathErrors(jsonPath, field);
  if (errors.length > 0 || jsonPath.startsWith(`${parent}.`)) return errors;
  return [invalidValue(field, jsonPath, `should be a json path under ${parent}`)];
}
