// Scalars of a YAML document with their tags, as values and as mapping keys.

import type { Scalar } from 'yaml';
import { formatGoFloat, quoteGoString } from '../../../std/go-text.ts';
import { decodeUtf8 } from '../utf8.ts';
import { resolveScalar } from './scalar.ts';

export type YamlScalar =
  | { readonly type: 'null' }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'integer'; readonly value: bigint }
  | { readonly type: 'float'; readonly value: number };

/** Returns the value of a scalar by its tag, or by its text if it is plain and has no tag. */
export function resolveTagged({ value, type, tag }: Scalar): YamlScalar {
  const text = typeof value === 'string' ? value : '';
  const name = tag?.replace(/^tag:yaml\.org,2002:/, '!!');
  if (name === '!!binary') return { type: 'string', value: decodeUtf8(Buffer.from(text, 'base64')) };
  if (name === undefined) return type === 'PLAIN' ? resolveWithoutTimestamps(text) : { type: 'string', value: text };
  return RESOLVED_TAGS.has(name) ? resolveTag(text, name) : { type: 'string', value: text };
}

function resolveTag(text: string, name: string): YamlScalar {
  const scalar = resolveWithoutTimestamps(text);
  if (TAG_OF[scalar.type] === name) return scalar;
  if (name === '!!float' && scalar.type === 'integer') return { type: 'float', value: Number(scalar.value) };
  if (name === '!!timestamp' && resolveScalar(text).type === 'timestamp') return scalar;
  throw new Error(`yaml: cannot decode ${TAG_OF[scalar.type]} \`${text}\` as a ${name}`);
}

export interface YamlKey {
  /** Identity of the key: `1` and `"1"` differ. */
  readonly id: string;
  /** Key in JSON. */
  readonly text: string;
  /** Key in Go's format, for errors. */
  readonly shown: string;
}

/** Returns a scalar as a mapping key, or throws an Error with Kubernetes' message. */
export function toYamlKey(key: YamlScalar): YamlKey {
  if (key.type === 'null') throw new Error('unsupported map key of type: %!s(<nil>), key: <nil>');
  if (key.type === 'string') return { id: `"${key.value}`, text: key.value, shown: quoteGoString(key.value) };
  const text = key.type === 'float' ? formatFloat32(key.value) : String(key.value);
  return { id: text, text, shown: key.type === 'float' ? formatGoFloat(key.value) : text };
}

const RESOLVED_TAGS: ReadonlySet<string> = new Set(['!!bool', '!!int', '!!float', '!!null', '!!timestamp']);
const TAG_OF: Readonly<Record<YamlScalar['type'], string>> = {
  null: '!!null',
  string: '!!str',
  boolean: '!!bool',
  integer: '!!int',
  float: '!!float',
};

/** Resolves a plain scalar; keeps timestamps as text. */
function resolveWithoutTimestamps(text: string): YamlScalar {
  const scalar = resolveScalar(text);
  return 'value' in scalar || scalar.type === 'null' ? scalar : { type: 'string', value: text };
}

/** Formats a key with the precision of a float32, as Kubernetes does. */
function formatFloat32(value: number): string {
  if (Number.isNaN(value)) return '.nan';
  if (!Number.isFinite(value)) return value > 0 ? '.inf' : '-.inf';
  const single = Math.fround(value);
  for (let digits = 1; digits < 9; digits++) {
    const shorter = Number(single.toPrecision(digits));
    if (Math.fround(shorter) === single) return formatGoFloat(shorter);
  }
  return formatGoFloat(Number(single.toPrecision(9)));
}
