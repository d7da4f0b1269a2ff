// The body of an apply patch: YAML or JSON, an object of any kind.

import { badRequest } from '../../api/status.ts';
import { isFields, type KubeObject, type Value } from '../object.ts';
import { toValue } from '../wire/json-node.ts';
import type { FieldValidation } from '../wire/options.ts';
import { parseYaml, type YamlDocument } from '../wire/yaml.ts';

const REPEATED = 'yaml: unmarshal errors:';

/** Reads the body; keys that stand twice are refused, told or ignored. Throws 400. */
export function readApplied(body: Buffer, validation: FieldValidation): { applied: KubeObject; warnings: readonly string[] } {
  const { node, duplicates } = parse(body);
  if (duplicates !== undefined && validation === 'Strict') {
    throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${duplicates}`);
  }
  const lines = duplicates === undefined || validation === 'Ignore' ? [] : duplicates.slice(REPEATED.length).trim().split('\n');
  return { applied: asObject(toValue(node)), warnings: lines.map((line) => line.trim()) };
}

function parse(body: Buffer): YamlDocument {
  try {
    return parseYaml(body);
  } catch (error) {
    throw badRequest(`error decoding YAML: error converting YAML to JSON: ${(error as Error).message}`);
  }
}

function asObject(value: Value): KubeObject {
  if (isFields(value) || value === null) return { apiVersion: '', kind: '', metadata: {}, ...value } as KubeObject;
  const found = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value === 'string' ? 'string' : 'number';
  const why = `json: cannot unmarshal ${found} into Go value of type map[string]interface {}`;
  throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`);
}
