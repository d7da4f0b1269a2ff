// Every field that an alternative speaks of must be declared outside of it, too.

import { type FieldError, requiredValue } from '../../../src/kubernetes/field-error.ts';
import { type Schema, schemaOfField } from '../../../src/kubernetes/schema/schema.ts';

/** The fields that only alternatives of the root schema know. */
export function incompleteErrors(schema: Schema, path: string): readonly FieldError[] {
  return alternativesErrors(schema, { schema, path }, path);
}

/** The declared schema that an alternative narrows down. */
interface Declared {
  readonly schema: Schema | undefined;
  readonly path: string;
}

function alternativesErrors({ not, allOf = [], anyOf = [], oneOf = [] }: Schema, declared: Declared, path: string): readonly FieldError[] {
  return [
    ...(not === undefined ? [] : alternativeErrors(not, declared, `${path}.not`)),
    ...allOf.flatMap((each, index) => alternativeErrors(each, declared, `${path}.allOf[${index}]`)),
    ...anyOf.flatMap((each, index) => alternativeErrors(each, declared, `${path}.anyOf[${index}]`)),
    ...oneOf.flatMap((each, index) => alternativeErrors(each, declared, `${path}.oneOf[${index}]`)),
  ];
}

function alternativeErrors(alternative: Schema, declared: Declared, path: string): readonly FieldError[] {
  const { schema } = declared;
  if (schema === undefined) return [requiredValue(declared.path, `because it is defined in ${path}`)];
  const { items, properties = {} } = alternative;
  return [
    ...alternativesErrors(alternative, declared, path),
    ...(items === undefined ? [] : alternativeErrors(items, { schema: schema.items, path: `${declared.path}.items` }, `${path}.items`)),
    ...Object.entries(properties).flatMap(([key, property]) => {
      const step = `.properties[${key}]`;
      const inner = schemaOfField({ properties: schema.properties ?? {} }, key);
      return alternativeErrors(property, { schema: inner, path: `${declared.path}${step}` }, `${path}${step}`);
    }),
  ];
}
