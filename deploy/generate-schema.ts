// Development tool: the options of Purser in the schema of the Helm chart's values, so that a misspelt one is told by Helm and not by
// pods that end. Run it with `npm run generate`.

import { readFile, writeFile } from 'node:fs/promises';
import { OPTIONS, type Option } from '../src/config/options.ts';

const SCHEMA = new URL('chart/values.schema.json', import.meta.url);

/** The schema with the options as they are now. */
export async function schemaWithOptions(): Promise<string> {
  const schema = JSON.parse(await readFile(SCHEMA, 'utf8')) as { readonly properties: object };
  const properties = { ...schema.properties, options: optionsSchema() };
  return `${JSON.stringify({ ...schema, properties }, null, 2)}\n`;
}

/** Options that would be at odds with ports, probes, roles or values of the chart. */
const TAKEN: ReadonlySet<string> = new Set([
  'bind-address',
  'components',
  'facade-port',
  'facade-tls-cert',
  'facade-tls-key',
  'facade-tls-secret',
  'metrics-port',
  'metrics-tls',
  'namespace',
  'namespaces',
  'ready-file',
]);

function optionsSchema(): object {
  const given = Object.entries<Option>(OPTIONS).filter(
    ([name, { localOnly, printsAndExits }]) => !TAKEN.has(name) && !localOnly && !printsAndExits,
  );
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(given.map(([name, option]) => [name, schemaOf(option)])),
  };
}

/** Whether a value is right is for Purser to say; that there is one, or none, is known here. */
function schemaOf({ value, description }: Option): object {
  if (value === undefined) return { description, const: true };
  return { description, type: NUMBERS.has(value) ? ['string', 'integer'] : 'string', minLength: 1 };
}

/** What can be a number in YAML: 0 is a time, too. */
const NUMBERS: ReadonlySet<string> = new Set(['N', 'DURATION']);

if (import.meta.main) await writeFile(SCHEMA, await schemaWithOptions());
