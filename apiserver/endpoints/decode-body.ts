// The body of a write as an object of the endpoint's kind.

import { isKnownKind } from '../../src/kubernetes/known-kinds.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { BodyMediaType } from '../../src/kubernetes/wire/content-type.ts';
import { decodeObject } from '../../src/kubernetes/wire/decode.ts';
import type { ExpectedKind } from '../../src/kubernetes/wire/decode-request.ts';
import type { FieldValidation } from '../../src/kubernetes/wire/options.ts';
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
