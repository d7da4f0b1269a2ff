// Envelope of Kubernetes protobuf messages: a prefix, the type of the object, and the object.

import type { Fields } from '../../object.ts';
import { bytes, struct, text } from '../../schema/go-struct.ts';
import { type GroupVersionKind, parseGroupVersion } from '../group-version-kind.ts';
import { decodeMessage } from './message.ts';

export interface Envelope {
  /** Type in the envelope; missing or unreadable parts are empty. */
  readonly type: GroupVersionKind;
  /** Encoded message of the object. */
  readonly raw: Buffer;
}

/** Reads an envelope. Throws an Error with Kubernetes' message for a malformed body. */
export function readEnvelope(body: Uint8Array): Envelope {
  const content = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (content.length === 0) throw new Error('empty data');
  if (!content.subarray(0, PREFIX.length).equals(PREFIX)) {
    throw new Error(`provided data does not appear to be a protobuf message, expected prefix [${[...PREFIX].join(' ')}]`);
  }
  if (content.length === PREFIX.length) throw new Error('empty body');
  const { typeMeta = {}, raw = '' }: Unknown = decodeMessage(content.subarray(PREFIX.length), UNKNOWN);
  return { type: typeOf(typeMeta), raw: Buffer.from(raw, 'base64') };
}

const PREFIX = Buffer.from('k8s\0');

interface Unknown extends Fields {
  readonly typeMeta?: { readonly apiVersion?: string; readonly kind?: string };
  readonly raw?: string;
}

const UNKNOWN = struct('runtime.Unknown', {
  typeMeta: struct('runtime.TypeMeta', { apiVersion: text(), kind: text() }),
  raw: bytes(),
  contentEncoding: text(),
  contentType: text(),
});

/** Returns the type in an envelope. An apiVersion without a version, or with more than two parts, is treated as missing. */
function typeOf({ apiVersion = '', kind = '' }: NonNullable<Unknown['typeMeta']>): GroupVersionKind {
  const [, version = ''] = /^(?:[^/]*\/)?([^/]+)$/.exec(apiVersion) ?? [];
  return { ...parseGroupVersion(version === '' ? '' : apiVersion), kind };
}
