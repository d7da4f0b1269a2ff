// Objects that Kubernetes' own encoders wrote as protobuf and as JSON, and the kinds that they belong to.

import { readFileSync } from 'node:fs';
import { DEFINITION_SCHEMA } from '../../../../apiserver/kinds/definition-schema.ts';
import { builtInKinds } from '../../../../apiserver/kinds/registry.ts';
import { DELETE_OPTIONS, reviewKinds, TOKEN_REQUEST } from '../../../../src/kubernetes/reviews.ts';
import type { Schema } from '../../../../src/kubernetes/schema/schema.ts';
import type { ExpectedKind } from '../../../../src/kubernetes/wire/decode-request.ts';

interface Sample {
  /** In base64. */
  readonly protobuf: string;
  readonly json: { readonly apiVersion: string; readonly kind: string };
}

interface Samples {
  /** By Go package and struct: every field with its number, `2.1` if the first field of an embedded struct at 2. */
  readonly numbers: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** One object of every kind with every field set that we describe. */
  readonly filled: readonly Sample[];
  /** What kubectl and client-go send. */
  readonly recorded: readonly (Sample & { readonly request: string })[];
  /** A Pod with a volume, whose sources we do not describe. */
  readonly undescribed: string;
}

export const SAMPLES = JSON.parse(readFileSync(new URL('../../../golden/protobuf.json', import.meta.url), 'utf8')) as Samples;

/** Everything that can arrive as protobuf. */
export const PROTOBUF_KINDS: readonly ExpectedKind[] = [
  ...builtInKinds,
  ...reviewKinds.map((kind) => ({ ...kind, builtIn: true })),
  builtIn('authentication.k8s.io', 'TokenRequest', TOKEN_REQUEST),
  builtIn('apiextensions.k8s.io', 'CustomResourceDefinition', DEFINITION_SCHEMA),
  builtIn('', 'DeleteOptions', DELETE_OPTIONS),
];

/** The kind of a sample; options are the same in every group. */
export function kindOf({ apiVersion, kind }: Sample['json']): ExpectedKind {
  const group = kind === 'DeleteOptions' ? '' : apiVersion.replace(/\/?v1$/, '');
  const found = PROTOBUF_KINDS.find((each) => each.group === group && each.kind === kind);
  if (found === undefined) throw new Error(`no kind ${apiVersion} ${kind}`);
  return found;
}

function builtIn(group: string, kind: string, schema: Schema): ExpectedKind {
  return { group, version: 'v1', kind, builtIn: true, schema };
}
