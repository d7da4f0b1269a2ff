// Development tool: generates src/api/*.gen.ts from crds/*.yaml. Run `npm run generate`.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { compile, type JSONSchema } from 'json-schema-to-typescript';
import { parse } from 'yaml';

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly scope: 'Cluster' | 'Namespaced';
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: JSONSchema } }[];
  };
}

const CRDS = new URL('../../crds/', import.meta.url);
const BANNER =
  '// Generated from crds/ by `npm run generate`; do not edit. Fields with defaults are present, as in objects from an API server.';

/** Returns the TypeScript text of each generated file, by file name. */
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
  const meta = spec.scope === 'Namespaced' ? 'NamespacedMeta' : 'ObjectMeta';
  const version = spec.versions[0];
  if (version === undefined || spec.versions.length > 1)
    throw new Error(`${kind} has ${spec.versions.length} versions; the generator supports one`);
  const schema = withTitles(version.schema.openAPIV3Schema, '', kind);
  const types = await compile(
    {
      ...schema,
      required: ['apiVersion', 'kind', 'metadata', 'spec'],
      properties: {
        ...schema.properties,
        apiVersion: { enum: [`${spec.group}/${version.name}`] },
        kind: { enum: [kind] },
        metadata: { tsType: meta },
      },
    },
    kind,
    {
      additionalProperties: false,
      bannerComment: `${BANNER}\n\nimport type { ${meta} } from './wire.ts';`,
      ignoreMinAndMaxItems: true,
      style: { printWidth: 140, singleQuote: true, bracketSpacing: true },
    },
  );
  return toReadonly(types);
}

/** Converts a schema to JSON Schema, with a title on every nested object, so that each becomes its own interface. */
function withTitles(schema: JSONSchema, field: string, kind: string): JSONSchema {
  const { nullable, ...rest } = schema;
  if (nullable === true) return { anyOf: [withTitles(rest, field, kind), { type: 'null' }] };
  const properties = Object.entries(schema.properties ?? {});
  const defaulted = properties.filter(([, property]) => property.default !== undefined).map(([name]) => name);
  return {
    ...rest,
    ...(properties.length > 0 && {
      title: `${kind}${field.charAt(0).toUpperCase()}${field.slice(1)}`,
      properties: Object.fromEntries(properties.map(([name, property]) => [name, withTitles(property, name, kind)])),
      required: [...(Array.isArray(schema.required) ? schema.required : []), ...defaulted],
    }),
    ...(schema.items && { items: withTitles(schema.items, field.replace(/s$/, ''), kind) }),
  };
}

/** Makes every field and every array read-only. */
function toReadonly(types: string): string {
  return types.replaceAll(
    /^( +)([\w'"[][^ ]*: )((?:.*\[\])?)/gm,
    (_line, indent: string, name: string, array: string) => `${indent}readonly ${name}${array && `readonly ${array}`}`,
  );
}

if (import.meta.main) {
  const files = [...(await generatedFiles())];
  await Promise.all(files.map(([name, text]) => writeFile(new URL(name, import.meta.url), text)));
}
