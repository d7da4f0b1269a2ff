// Development tool: crds/*.yaml → src/api/*.gen.ts. Run it with `npm run generate`.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { compile, type JSONSchema } from 'json-schema-to-typescript';
import { parse } from 'yaml';

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: JSONSchema } }[];
  };
}

const CRDS = new URL('../../crds/', import.meta.url);
const BANNER = '// Made from crds/ by `npm run generate`; do not edit. Objects are as the API server returns them: defaults are filled in.';

/** The text of every generated file, by its name: what the CRDs say, as TypeScript. */
export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(CRDS)).filter((name) => name.endsWith('.yaml')).sort();
  const files = names.map(async (name) => {
    const definition: Definition = parse(await readFile(new URL(name, CRDS), 'utf8'));
    return [fileName(definition), await typesOf(definition)] as const;
  });
  return new Map(await Promise.all(files));
}

function fileName({ spec }: Definition): string {
  return `${spec.names.kind.replace(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()}.gen.ts`;
}

async function typesOf({ spec }: Definition): Promise<string> {
  const { kind } = spec.names;
  const version = spec.versions[0];
  if (version === undefined || spec.versions.length > 1)
    throw new Error(`${kind} has ${spec.versions.length} versions; one can be generated`);
  const schema = titled(version.schema.openAPIV3Schema, '', kind);
  const types = await compile(
    {
      ...schema,
      required: ['apiVersion', 'kind', 'metadata', 'spec'],
      properties: {
        ...schema.properties,
        apiVersion: { enum: [`${spec.group}/${version.name}`] },
        kind: { enum: [kind] },
        metadata: { tsType: 'ObjectMeta' },
      },
    },
    kind,
    {
      additionalProperties: false,
      bannerComment: `${BANNER}\n\nimport type { ObjectMeta } from './wire.ts';`,
      ignoreMinAndMaxItems: true,
      style: { printWidth: 140, singleQuote: true, bracketSpacing: true },
    },
  );
  return frozen(types);
}

/** The schema in JSON Schema's words, with a title on every nested object, so that each becomes an interface of its own. */
function titled(schema: JSONSchema, field: string, kind: string): JSONSchema {
  const { nullable, ...rest } = schema;
  if (nullable === true) return { anyOf: [titled(rest, field, kind), { type: 'null' }] };
  if (schema['x-kubernetes-int-or-string'] === true) return { ...rest, tsType: 'number | string' };
  const properties = Object.entries(schema.properties ?? {});
  const defaulted = properties.filter(([, property]) => property.default !== undefined).map(([name]) => name);
  return {
    ...rest,
    ...(properties.length > 0 && {
      title: `${kind}${field.charAt(0).toUpperCase()}${field.slice(1)}`,
      properties: Object.fromEntries(properties.map(([name, property]) => [name, titled(property, name, kind)])),
      required: [...(Array.isArray(schema.required) ? schema.required : []), ...defaulted],
    }),
    ...(schema.items && { items: titled(schema.items, field.replace(/s$/, ''), kind) }),
  };
}

/** The same types with every field and every array read-only. */
function frozen(types: string): string {
  return types.replaceAll(
    /^( +)([\w'"[][^ ]*: )((?:.*\[\])?)/gm,
    (_line, indent: string, name: string, array: string) => `${indent}readonly ${name}${array && `readonly ${array}`}`,
  );
}

if (import.meta.main) {
  const files = [...(await generatedFiles())];
  await Promise.all(files.map(([name, text]) => writeFile(new URL(name, import.meta.url), text)));
}
