// Objects that the encoders of Kubernetes encoded as protobuf and as JSON, with their kinds.

import { readFileSync } from 'node:fs';
import { DEFINITION_SCHEMA } from '../../../../apiserver/kinds/definition-schema.ts';
import { builtInKinds } from '../../../../apiserver/kinds/registry.ts';
import { DELETE_OPTIONS, reviewKinds, TOKEN_REQUEST } from '../../../../src/kubernetes/reviews.ts';
import type { Schema } from '../../../../src/kubernetes/schema/schema.ts';
import type { ExpectedKind } from '../../../../src/kubernetes/wire/decode-request.ts';

interface Sample {
  /** Message in base64. */
  readonly protobuf: string;
  readonly json: { readonly apiVersion: string; readonly kind: string };
}

interface Samples {
  /** Fields with their numbers, by Go package and struct; `2.1` is the first field of an embedded struct at 2. */
  readonly numbers: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** One object of every kind with all described fields set. */
  readonly filled: readonly Sample[];
  /** Requests of kubectl and client-go. */
  readonly recorded: readonly (Sample & { readonly request: string })[];
  /** A Pod with a volume, whose sources have no schema here. */
  readonly undescribed: string;
}

export const SAMPLES = JSON.parse(readFileSync(new URL('../../../golden/protobuf.json', import.meta.url), 'utf8')) as Samples;

/** Kinds that can be sent as protobuf. */
export const PROTOBUF_KINDS: readonly ExpectedKind[] = [
  ...builtInKinds,
  ...reviewKinds.map((kind) => ({ ...kind, builtIn: true })),
  builtIn('authentication.k8s.io', 'TokenRequest', TOKEN_REQUEST),
  builtIn('apiextensions.k8s.io', 'CustomResourceDefinition', DEFINITION_SCHEMA),
  builtIn('', 'DeleteOptions', DELETE_OPTIONS),
];

/** Returns the kind of a sample; DeleteOptions are the same in every group. */
export function kindOf({ apiVersion, kind }: Sample['json']): ExpectedKind {
  const group = kind === 'DeleteOptions' ? '' : apiVersion.replace(/\/?v1$/, '');
  const found = PROTOBUF_KINDS.find((each) => each.group === group && each.kind === kind);
  if (found === undefined) throw new Error(`no kind ${apiVersion} ${kind}`);
  return found;
}

function builtIn(group: string, kind: string, schema: Schema): ExpectedKind {
  return { group, version: 'v1', kind, builtIn: true, schema };
}
