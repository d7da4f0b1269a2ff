// The body of a write as an object of the endpoint's kind.

import { isKnownKind } from '../../apimachinery/known-kinds.ts';
import type { KubeObject } from '../../apimachinery/object.ts';
import type { BodyMediaType } from '../../apimachinery/wire/content-type.ts';
import { decodeObject } from '../../apimachinery/wire/decode.ts';
import type { ExpectedKind } from '../../apimachinery/wire/decode-request.ts';
import type { FieldValidation } from '../../apimachinery/wire/options.ts';
import type { ApiRequest } from '../request.ts';
import type { Api } from '../verbs/api.ts';

export interface Body {
  readonly body: Buffer;
  readonly mediaType: BodyMediaType;
  readonly kind: ExpectedKind;
  readonly fieldValidation: FieldValidation;
}

/** Decodes; unknown and repeated fields are refused, told to the caller, or ignored. Throws 400. */
export function decodeBody(api: Api, { warn }: ApiRequest, { kind, ...body }: Body): KubeObject {
  const { object, warnings } = decodeObject({
    ...body,
    kind,
    defaultKind: kind.builtIn,
    isRegistered: (group, version, name) => api.registry.isRegistered(group, version, name) || isKnownKind(group, version, name),
  });
  warnings.forEach(warn);
  return object;
}
