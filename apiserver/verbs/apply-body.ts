// The body of an apply patch: YAML or JSON, an object of any kind.

import { isFields, type KubeObject, type Value } from '../../src/kubernetes/object.ts';
import { badRequest } from '../../src/kubernetes/status.ts';
import { toValue } from '../../src/kubernetes/wire/json-node.ts';
import type { FieldValidation } from '../../src/kubernetes/wire/options.ts';
import { parseYaml, type YamlDocument } from '../../src/kubernetes/wire/yaml/parse.ts';

const REPEATED = 'yaml: unmarshal errors:';

export interface AppliedBody {
  readonly applied: KubeObject;
  /** Refuses keys that stand twice, tells of them, or ignores them. Asked once the apply itself has found no fault. Throws 400. */
  readonly checkRepeated: (validation: FieldValidation, warn: (text: string) => void) => void;
}

/** Reads the body. Throws 400. */
export function readApplied(body: Buffer): AppliedBody {
  const { node, duplicates } = parse(body);
  return {
    applied: asObject(toValue(node)),
    checkRepeated: (validation, warn) => {
      if (duplicates === undefined || validation === 'Ignore') return;
      if (validation === 'Strict') throw badRequest(`error strict decoding YAML: error converting YAML to JSON: ${duplicates}`);
      const lines = duplicates.slice(REPEATED.length).trim().split('\n');
      for (const line of lines) warn(line.trim());
    },
  };
}

function parse(body: Buffer): YamlDocument {
  try {
    return parseYaml(body);
  } catch (error) {
    throw badRequest(`error decoding YAML: error converting YAML to JSON: ${(error as Error).message}`);
  }
}

function asObject(value: Value): KubeObject {
  if (isFields(value) || value === null) return Object.assign({ apiVersion: '', kind: '', metadata: {} }, value);
  const found = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value === 'string' ? 'string' : 'number';
  const why = `json: cannot unmarshal ${found} into Go value of type map[string]interface {}`;
  throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`);
}
