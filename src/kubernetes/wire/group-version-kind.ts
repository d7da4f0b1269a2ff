// Kind and apiVersion of a document, which are decoded first, with case-insensitive keys.

import { nodeTypeOf, typeMismatch } from './decode-self.ts';
import type { JsonEntry, JsonNode } from './json-node.ts';

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export type GroupVersion = Omit<GroupVersionKind, 'kind'>;

/** Returns the kind and apiVersion of a document; empty strings if they are missing. Throws an Error with Go's message for a wrong type. */
export function readTypeFields(node: JsonNode): { readonly apiVersion: string; readonly kind: string } {
  if (node.type === 'null') return { apiVersion: '', kind: '' };
  if (node.type !== 'object') throw typeMismatch(nodeTypeOf(node), STRUCT, { path: '', fields: '', struct: '' });
  const found = { apiVersion: '', kind: '' };
  for (const { key, value } of node.entries) {
    const name = toTypeFieldName(key);
    if (name === undefined || value.type === 'null') continue;
    if (value.type !== 'string') throw typeMismatch(nodeTypeOf(value), 'string', { path: '', fields: name, struct: '' });
    found[name] = value.value;
  }
  return found;
}

/** Splits an apiVersion, or throws an Error with Go's message. */
export function parseGroupVersion(apiVersion: string): GroupVersion {
  const parts = apiVersion === '/' ? [''] : apiVersion.split('/');
  if (parts.length > 2) throw new Error(`unexpected GroupVersion string: ${apiVersion}`);
  const [group = '', version = ''] = parts.length === 1 ? ['', ...parts] : parts;
  return { group, version };
}

/** Fills in the missing parts of `type`. Group and version are defaulted together or not at all. */
export function withDefaultType(type: GroupVersionKind, defaults: GroupVersionKind): GroupVersionKind {
  const kind = type.kind === '' ? defaults.kind : type.kind;
  if (type.version !== '' || (type.group !== '' && type.group !== defaults.group)) return { ...type, kind };
  return { group: defaults.group, version: defaults.version, kind };
}

const STRUCT = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;

function toTypeFieldName(key: JsonEntry['key']): 'apiVersion' | 'kind' | undefined {
  if (/^kind$/iu.test(key)) return 'kind';
  return /^apiVersion$/iu.test(key) ? 'apiVersion' : undefined;
}
