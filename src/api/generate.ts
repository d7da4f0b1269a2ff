// Development tool: generates src/api/*.gen.ts from crds/*.yaml. Run `npm run generate`.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { compile, type JSONSchema } from 'json-schema-to-typescript';
import { parse } from 'yaml';

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly scope: 'Cluster' | 'Namespaced';
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: JSONSchema };
      readonly additionalPrinterColumns?: readonly object[];
    }[];
  };
}

const CRDS = new URL('../../crds/', import.meta.url);
const BANNER =
  '// Generated from crds/ by `npm run generate`; do not edit. Fields with defaults are present, as in objects from an API server.';
const SCHEMA_BANNER =
  "// Generated from crds/ by `npm run generate`; do not edit. Descriptions and constraints of the façade's OpenAPI document, and columns of its tables.";

/** Kinds that the façade lists. Its OpenAPI document contains their schemas, and its tables have their columns. */
const LISTED_KINDS = new Set(['Cluster', 'ManagedToken']);

/** Returns the TypeScript text of each generated file, by file name. */
export async function generateFiles(listedKinds: ReadonlySet<string> = LISTED_KINDS): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(CRDS)).filter((name) => name.endsWith('.yaml')).sort();
  const files = names.map(async (name) => {
    const definition: Definition = parse(await readFile(new URL(name, CRDS), 'utf8'));
    const { kind } = definition.spec.names;
    const types = [`${toFileName(kind)}.gen.ts`, await generateTypes(definition)] as const;
    return listedKinds.has(kind) ? [types, [`${toFileName(kind)}-schema.gen.ts`, generateSchema(definition)] as const] : [types];
  });
  return new Map((await Promise.all(files)).flat());
}

function toFileName(kind: string): string {
  return kind.replace(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase();
}

/** Returns the TypeScript text with the schema and the columns of a kind as constants. */
function generateSchema({ spec }: Definition): string {
  const { kind } = spec.names;
  const [version] = spec.versions;
  const schema = toOpenApi(version?.schema.openAPIV3Schema ?? {});
  const constants = [
    `/** Schema of ${kind}. */\nexport const ${kind}Schema = ${JSON.stringify(schema, null, 2)} as const;`,
    `/** Columns of ${kind}. */\nexport const ${kind}Columns = ${JSON.stringify(version?.additionalPrinterColumns ?? [], null, 2)} as const;`,
  ];
  return `${SCHEMA_BANNER}\n\n${constants.join('\n\n')}\n`;
}

/**
 * Converts a schema to OpenAPI without extensions. The first CEL rule that only matches regular expressions becomes a pattern; other rules
 * are removed.
 */
function toOpenApi(schema: JSONSchema): JSONSchema {
  const { 'x-kubernetes-validations': rules, properties, items, additionalProperties: values, ...rest } = schema;
  const [pattern] = ((rules ?? []) as readonly { readonly rule: string }[]).flatMap(({ rule }) => toPattern(rule) ?? []);
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([name]) => !name.startsWith('x-kubernetes-'))),
    ...(pattern !== undefined && { pattern }),
    ...(properties && { properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, toOpenApi(each)])) }),
    ...(items && { items: toOpenApi(items) }),
    ...(typeof values === 'object' && { additionalProperties: toOpenApi(values) }),
  };
}

/** Returns the regular expression of a rule such as `self.matches('a') || self.matches('b')`; undefined for other rules. */
function toPattern(rule: string): string | undefined {
  const texts = rule.split(/\s*\|\|\s*/).map((part) => /^self\.matches\('([^']*)'\)$/.exec(part.trim())?.[1]);
  if (texts.some((text) => text === undefined)) return undefined;
  return texts.map((text) => JSON.parse(`"${text?.replace(/\\.|"/gs, (found) => (found === '"' ? '\\"' : found))}"`) as string).join('|');
}

async function generateTypes({ spec }: Definition): Promise<string> {
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
      // The fields of a template have the same names as those of the object, so their titles contain `Template`.
      properties: Object.fromEntries(
        properties.map(([name, property]) => [name, withTitles(property, name, field === 'template' ? `${kind}Template` : kind)]),
      ),
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
  const files = [...(await generateFiles())];
  await Promise.all(files.map(([name, text]) => writeFile(new URL(name, import.meta.url), text)));
}
