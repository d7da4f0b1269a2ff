// Development tool: docs/api.md, from crds/*.yaml, what writes Secrets and the façade's OpenAPI document. Run it with `npm run generate`.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { Annotation, Label, LabelValue } from '../src/api/names.ts';
import { LISTINGS } from '../src/facade/lists.ts';
import { openApi } from '../src/facade/openapi.ts';
import { outputForms } from '../src/tokens/outputs/forms.ts';
import { TOKEN_KEY, tokenKeys } from '../src/tokens/outputs/outputs.ts';

const CRDS = new URL('../crds/', import.meta.url);
const REFERENCE = new URL('api.md', import.meta.url);

/** The text of docs/api.md. */
export async function apiReference(): Promise<string> {
  const names = (await readdir(CRDS)).filter((name) => name.endsWith('.yaml')).sort();
  const definitions = await Promise.all(names.map(async (name) => parse(await readFile(new URL(name, CRDS), 'utf8')) as Definition));
  return [INTRODUCTION, ...definitions.map(kindSection), secretSection(), facadeSection()].join('\n');
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

Made by \`npm run generate\` from [crds](../crds), from what writes Secrets, and from the OpenAPI document of the façade, which
serves it at \`/openapi/v3\`; do not edit. \`kubectl explain managedtoken.spec\` tells the same of the custom resources.

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

const ANNOTATIONS: Readonly<Record<Exclude<keyof typeof Annotation, 'rotate' | 'revoke' | 'anchors'>, string>> = {
  expiresAt: 'When the token expires.',
  renewAt: 'When it will be renewed, unless it is suspended.',
  credentialId: "The token's `jti`, where it has one: the audit log of the target cluster names it.",
  issuedAt: "When the token was asked for, by Purser's clock.",
  rotations: 'How often it has been renewed.',
  issuedFor: "The cluster, a digest of the name of Purser's credential, the account, audiences and bound object that it is for, as JSON.",
  tokenDigest: '`sha256:` and the digest of the token, so that another one is noticed. It goes with the token.',
  outputsDigest:
    'Digests of the data: rendered with a placeholder for the token, and as written. Purser rewrites a Secret whose data differs.',
  rotateRequest: `The value of \`${Annotation.rotate}\` that was acted on.`,
  revokeRequest: `The value of \`${Annotation.revoke}\` that was acted on.`,
  template: 'The names of the labels and annotations that `spec.secret` asked for, as JSON.',
};

/** Returns the section on Secrets; keys and labels are those of the registered output forms. */
function secretSection(): string {
  const forms = [...outputForms];
  const meanings = new Map(forms.flatMap(([, { keys }]) => Object.entries(keys)));
  const keys = [
    [`\`${TOKEN_KEY}\``, 'any', 'The token.'],
    ...[...meanings].map(([key, meaning]) => [`\`${key}\``, namesOf(forms.filter(([, form]) => key in form.keys)), meaning]),
  ];
  const labels = forms.flatMap(([name, form]) =>
    Object.entries(form.labels ?? {}).map(([key, value]) => `, with the output \`${name}\` also \`${key}: ${value}\``),
  );
  const annotations = Object.entries(ANNOTATIONS).map(([name, meaning]) => [`\`${Annotation[name as keyof typeof Annotation]}\``, meaning]);
  return `## What is in the Secret

The Secret of a ManagedToken is in the same namespace, of the type \`Opaque\`, and owned by it: it goes when the ManagedToken does.
A token and all that is said of it are written in one request. Once it has expired, the keys that hold it
(${tokenKeys()
    .map((key) => `\`${key}\``)
    .join(', ')}) are gone, and the rest stays.

${table(['key', 'with the output', 'meaning'], keys)}
It has the label \`${Label.managedBy}: ${LabelValue.managedBy}\`${labels.join('')}, and what
\`spec.secret\` asks for. Of its annotations, the first three are for readers; the others are Purser's own record. Times are in
UTC, such as \`2026-01-31T12:00:00Z\`.

${table(['annotation', 'meaning'], annotations)}`;
}

function namesOf(forms: readonly (readonly [string, unknown])[]): string {
  return forms.map(([name]) => `\`${name}\``).join(', ');
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
  const { paths, components } = openApi('orchestrator', LISTINGS);
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationSection(`${method.toUpperCase()} ${path}`, operation as Operation)),
  );
  const schemas = Object.entries(components.schemas as Readonly<Record<string, Schema>>).map(
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
