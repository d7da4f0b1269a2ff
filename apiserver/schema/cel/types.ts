// The types that rules are checked against before a CRD is taken: every object of the schema becomes a CEL type.

import type { Environment } from '@marcbachmann/cel-js';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { CEL } from './environment.ts';
import { celNames } from './names.ts';

/** An environment in which `self` and `oldSelf` have the type of the schema; undefined if rules cannot see such values. */
export function typedEnvironment(schema: Schema, optionalOldSelf: boolean): Environment | undefined {
  const environment = CEL.clone();
  const type = declare(schema, environment, { count: 0 });
  if (type === undefined) return undefined;
  environment.registerVariable('self', type);
  return environment.registerVariable('oldSelf', optionalOldSelf ? `optional<${type}>` : type);
}

interface Names {
  count: number;
}

/** The CEL type of a schema, its objects declared on the way. */
function declare(schema: Schema, environment: Environment, names: Names): string | undefined {
  if (schema['x-kubernetes-int-or-string']) return 'dyn';
  if (schema.type === 'array') return wrapped('list<', schema.items, environment, names);
  if (schema.type === 'object') {
    const values = schema.additionalProperties;
    return typeof values === 'object' ? wrapped('map<string, ', values, environment, names) : declareObject(schema, environment, names);
  }
  if (schema.type === 'string') return TEXT_TYPES.get(schema.format ?? '') ?? 'string';
  return schema.type === undefined ? undefined : SCALAR_TYPES[schema.type];
}

const TEXT_TYPES: ReadonlyMap<string, string> = new Map([
  ['byte', 'bytes'],
  ['date', 'google.protobuf.Timestamp'],
  ['date-time', 'google.protobuf.Timestamp'],
  ['duration', 'google.protobuf.Duration'],
]);

const SCALAR_TYPES: Readonly<Record<string, string>> = { boolean: 'bool', number: 'double', integer: 'int' };

function wrapped(prefix: string, schema: Schema | undefined, environment: Environment, names: Names): string | undefined {
  const inner = schema === undefined ? undefined : declare(schema, environment, names);
  return inner === undefined ? undefined : `${prefix}${inner}>`;
}

function declareObject(schema: Schema, environment: Environment, names: Names): string {
  const fields: Record<string, string> = {};
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const type = declare(property, environment, names);
    if (type === undefined) continue;
    for (const name of celNames(key)) fields[name] = type;
  }
  names.count += 1;
  const type = `Object${names.count}`;
  environment.registerType(type, { fields });
  environment.registerOperator(`${type} == ${type}`, () => true);
  return type;
}
