// Generates the schema of `options` in the values of the Helm chart, so that Helm rejects unknown options before any pod starts.
// Run by `npm run generate`.

import { readFile, writeFile } from 'node:fs/promises';
import { OPTIONS, type Option } from '../src/config/options.ts';

const SCHEMA = new URL('chart/values.schema.json', import.meta.url);

/** Returns the text of values.schema.json with the current options. */
export async function generateSchema(): Promise<string> {
  const schema = JSON.parse(await readFile(SCHEMA, 'utf8')) as { readonly properties: object };
  const properties = { ...schema.properties, options: createOptionsSchema() };
  return `${JSON.stringify({ ...schema, properties }, null, 2)}\n`;
}

/** Options that the chart sets itself, or that would conflict with its ports, probes or roles. */
const TAKEN_OPTIONS: ReadonlySet<string> = new Set([
  'bind-address',
  'components',
  'facade-port',
  'facade-tls-cert',
  'facade-tls-key',
  'facade-tls-secret',
  'facade-url',
  'metrics-port',
  'metrics-tls',
  'namespace',
  'namespaces',
  'ready-file',
]);

function createOptionsSchema(): object {
  const given = Object.entries<Option>(OPTIONS).filter(([name, { localOnly }]) => !TAKEN_OPTIONS.has(name) && !localOnly);
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(given.map(([name, option]) => [name, toSchema(option)])),
  };
}

/** Returns a schema that requires a value, or true for an option without a value. Purser validates the value at startup. */
function toSchema({ value, description }: Option): object {
  if (value === undefined) return { description, const: true };
  return { description, type: NUMBERS.has(value) ? ['string', 'integer'] : 'string', minLength: 1 };
}

/** Placeholders of values that YAML may parse as numbers; 0 is a valid DURATION. */
const NUMBERS: ReadonlySet<string> = new Set(['N', 'DURATION']);

if (import.meta.main) await writeFile(SCHEMA, await generateSchema());
