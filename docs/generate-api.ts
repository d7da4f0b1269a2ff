// Development tool: docs/api.md, from crds/*.yaml and the façade's OpenAPI document. Run it with `npm run generate`.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { openApi } from '../src/http/openapi.ts';

const CRDS = new URL('../crds/', import.meta.url);
const REFERENCE = new URL('api.md', import.meta.url);

/** The text of docs/api.md. */
export async function apiReference(): Promise<string> {
  const names = (await readdir(CRDS)).filter((name) => name.endsWith('.yaml')).sort();
  const definitions = await Promise.all(names.map(async (name) => parse(await readFile(new URL(name, CRDS), 'utf8')) as Definition));
  return [INTRODUCTION, ...definitions.map(kindSection), facadeSection()].join('\n');
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly 'x-kubernetes-validations'?: readonly { readonly message: string }[];
}

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly kind: string; readonly plural: string; readonly shortNames: readonly string[] };
    readonly versions: readonly [{ readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }];
  };
}

const INTRODUCTION = `# API reference

Made by \`npm run generate\` from [crds](../crds) and from the OpenAPI document of the façade, which serves it at
\`/openapi/v3\`; do not edit. \`kubectl explain managedtoken.spec\` tells the same of the custom resources.

\\* marks fields that are required.
`;

function kindSection({ spec }: Definition): string {
  const { kind, plural, shortNames } = spec.names;
  const [{ name, schema }] = spec.versions;
  const root = schema.openAPIV3Schema;
  const { spec: asked = {}, status = {} } = root.properties ?? {};
  return `## ${kind}

\`${spec.group}/${name}\`, \`${plural}\` (\`${shortNames.join('`, `')}\`), ${spec.scope === 'Cluster' ? 'cluster-scoped' : 'namespaced'}.

${root.description}

${table(HEAD, [...rows(asked, 'spec'), ...rows(status, 'status')])}`;
}

const HEAD = ['field', 'type', 'default', 'meaning'];

type Row = readonly string[];

/** A row for each field below a schema, at whatever depth. */
function rows(schema: Schema, path: string): readonly Row[] {
  const { required = [], properties = {} } = schema;
  return Object.entries(properties).flatMap(([name, field]) => {
    const own = `${path}.${name}`;
    const rules = (field['x-kubernetes-validations'] ?? []).map(({ message }) => sentence(message));
    const meaning = [field.description ?? '', ...limitsOf(field), ...rules].join(' ').trim();
    const row = [`\`${own}\`${required.includes(name) ? ' \\*' : ''}`, typeOf(field), defaultOf(field), meaning];
    return [row, ...rows(field, own), ...(field.items ? rows(field.items, `${own}[]`) : [])];
  });
}

function typeOf({ $ref, type = 'object', format, enum: words, items, additionalProperties }: Schema): string {
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf('/') + 1);
  if (items !== undefined) return `array of ${typeOf(items)}`;
  if (additionalProperties !== undefined) return `map of ${typeOf(additionalProperties)}`;
  if (words !== undefined) return words.map((word) => `\`${word}\``).join(', ');
  return format === 'date-time' ? 'time' : type;
}

function defaultOf({ default: value }: Schema): string {
  return value === undefined || JSON.stringify(value) === '{}' ? '' : `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

function limitsOf({ minimum, maximum, minItems, maxItems, maxLength }: Schema): readonly string[] {
  return [
    ...(minItems !== undefined && maxItems !== undefined ? [`${minItems} to ${maxItems} of them.`] : []),
    ...(minimum !== undefined && maximum !== undefined ? [`${minimum} to ${maximum}.`] : []),
    ...(maxLength === undefined ? [] : [`At most ${maxLength} characters.`]),
  ];
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

interface Operation {
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly description: string;
    readonly schema: { readonly type: string };
  }[];
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

function facadeSection(): string {
  const { paths, components } = openApi('orchestrator');
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationSection(`${method.toUpperCase()} ${path}`, operation as Operation)),
  );
  const schemas = Object.entries<Schema>(components.schemas).map(
    ([name, schema]) =>
      `### Object: ${name}\n\n${schema.description}\n\n${table(
        ['field', 'type', 'meaning'],
        rows(schema, name).map(([field = '', type = '', , meaning = '']) => [field.replace(`${name}.`, ''), type, meaning]),
      )}`,
  );
  return `## The façade

Every request carries \`Authorization: Bearer <token>\`, a token that the hub accepts. Errors are \`Status\` objects with the
reasons and codes of kube-apiserver. \`orchestrator\` is the default of \`--facade-path\`.

${[...operations, ...schemas].join('\n')}`;
}

function operationSection(line: string, { summary, description, parameters, responses }: Operation): string {
  const given = parameters.map(({ name, in: place, schema, description: text }) => [`\`${name}\``, place, schema.type, text]);
  const answers = Object.entries(responses).map(([code, { description: text }]) => [code, text]);
  return `### ${summary.replace(/\.$/, '')}

\`${line}\`

${description.replaceAll(/<[\w</>]+>/g, (placeholder) => `\`${placeholder}\``)}

${table(['parameter', 'in', 'type', 'meaning'], given)}
${table(['code', 'meaning'], answers)}`;
}

function table(head: Row, body: readonly Row[]): string {
  return [head, head.map(() => '---'), ...body].map((cells) => `| ${cells.map(cell).join(' | ')} |\n`).join('');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/(?<!`)(<[\w</>]+>)(?!`)/g, '`$1`');
}

if (import.meta.main) await writeFile(REFERENCE, await apiReference());
